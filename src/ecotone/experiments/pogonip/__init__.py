"""The evaluation of Pogonip, and what lies beyond it."""
