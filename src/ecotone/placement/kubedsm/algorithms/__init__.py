"""The paper's algorithms, one file each: place at once (1), suggest (2 to 4), free and reorder the edge (5, 6), match (8)."""
