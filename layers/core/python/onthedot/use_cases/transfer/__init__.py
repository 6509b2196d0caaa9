"""Move the data of a stage to another one: freeze it, export it, import it there, release it."""
