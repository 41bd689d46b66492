"""Simple rules that every comparison needs."""
