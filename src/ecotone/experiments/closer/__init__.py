"""The closing claim of the communication-aware scheduler (CLOSER 2022), measured."""
