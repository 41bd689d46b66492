"""The placement problem: instances, solutions, and an independent checker."""
