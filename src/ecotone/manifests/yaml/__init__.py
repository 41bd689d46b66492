"""YAML read and written: `positions` says where things stand, `plain` and `block` are faster, `text` is the way back."""
