"""Commands that show the state of a stage: queues, the overview, and the live screen of `onthedot top`."""
