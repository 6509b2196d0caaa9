"""Performers: the code that calls the targets of jobs, in one folder for each family of targets.

The modules beside the folders are shared by several families: the router, the deny list of addresses, the countdown of
a call, and the answers that all of them give.
"""
