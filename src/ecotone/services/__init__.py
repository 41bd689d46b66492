"""The long-running programs: what turns the decisions of the pure layers into requests, and watches what comes of them."""
