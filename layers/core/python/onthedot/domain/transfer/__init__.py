"""The transfer of a stage: the states of a stage, the entries of an export, and records as they are imported."""
