"""APScheduler 3 on PostgreSQL. One process creates the jobs and runs them, which is how version 3 is used."""

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from benchmarks.peers.programs.calls import NOW, answer_requests, instant, note, store_url

# Its default drops a run that is more than a second late.
scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"misfire_grace_time": None})


def create(number: int, due: int) -> None:
    scheduler.add_job(note, "date", args=(number, due), run_date=None if due == NOW else instant(due))


if __name__ == "__main__":
    scheduler.add_jobstore(SQLAlchemyJobStore(url=store_url().replace("postgresql:", "postgresql+psycopg:")))
    scheduler.start()
    answer_requests(create)
