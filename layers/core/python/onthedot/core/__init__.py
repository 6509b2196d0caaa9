"""The core of the scheduler, which every part uses. It knows no feature."""
