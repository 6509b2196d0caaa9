"""The performers of shell and Python targets, which run in processes under a supervisor."""
