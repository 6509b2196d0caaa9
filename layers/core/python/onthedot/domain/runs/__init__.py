"""Jobs and runs: their records, the moves that change them, their slots, and the decisions about them."""
