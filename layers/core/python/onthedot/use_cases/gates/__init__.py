"""Gates: ask for places, wait, wake and look, and the calls that set and show limits."""
