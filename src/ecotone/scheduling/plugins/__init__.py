"""One plugin a file, named after what it looks at. To add a policy, copy `first_fit.py` and name it in a profile."""
