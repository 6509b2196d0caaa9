"""One module for each task of the scheduler, in one folder for each subject.

A use case decides with `domain` and acts through `ports`. It imports no engine.
"""
