"""Targets in requests and answers: models of each type of target, and views that mask their secrets."""
