"""Move all data of a stage to another one, between engines, so that every run runs once.

The state of a stage is one item: open, frozen or importing.

    source:       open -- freeze --> frozen -- export is whole --> frozen, exported     (thaw: open again)
    destination:  open -- begin --> importing -- release --> open, released

- The store refuses every create and every move while the stage is not open, except moves of attempts that are
  running. So no part can forget the check. Ticks only note their time; progress stays, and the first tick after a
  release reads all slots since.
- A process reads the state at most every five seconds on AWS, every second on SQLite. If it cannot be read, the last
  known state counts for 30 seconds, then nothing is written. After a change, commands wait until every process
  follows (`settle_ms`). An export also waits until no attempt is alive; then the pages of its scan are one consistent
  state.
- The import recomputes status and slot: a run that was sent or waits at a gate becomes PENDING in a fire slot.
- Entries are put if absent, and each change of the state finds its own result after a lost reply, so every command
  may be repeated. A release is refused for any freeze but the one that was imported.
- Neither stage can ask the other. The source stays frozen, and the file proves it.
"""
