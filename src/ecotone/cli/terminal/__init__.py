"""What reaches a person: tables, documents, notes and progress."""
