"""Pure decisions and values: no clock, no network, no storage. Instants are epoch milliseconds."""
