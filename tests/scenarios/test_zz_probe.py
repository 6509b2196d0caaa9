from tests.scenarios.recurring import *
from tests.scenarios.test_recurring import changed_to
from onthedot.use_cases.change_job import cancel_job
def test_patch_in_outage(simulation):
    job = submit(simulation, cron("* * * * *"), run_all())
    simulation.let_pass(300); simulation.clock.advance(3600)
    changed_to(simulation, job, cron("*/2 * * * *"))
    simulation.let_pass(600)
    print("PATCH", len(fired(simulation, job)), "fired", skipped_count(simulation, job), "skipped")
def test_cancel_in_outage(simulation):
    job = submit(simulation, cron("* * * * *"), run_all())
    simulation.let_pass(300); simulation.clock.advance(3600)
    cancel_job(simulation.world.engine, "acme", job.job_id)
    simulation.let_pass(600)
    print("CANCEL", len(runs_of(simulation, job)), "records", skipped_count(simulation, job))
