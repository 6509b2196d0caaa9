"""The ports that send and receive SQS messages: runs, ticks, and events that could not be used."""
