"""The plugins of Pogonip's 2021 prototype."""
