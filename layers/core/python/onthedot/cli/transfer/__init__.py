"""Commands that move the data of a stage: export, import, thaw, backup."""
