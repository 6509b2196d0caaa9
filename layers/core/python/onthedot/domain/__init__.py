"""Pure decisions and values: no clock, no network, no storage. Times are epoch milliseconds."""
