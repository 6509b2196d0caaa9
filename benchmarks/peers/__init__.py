"""The benchmark beside other tools: the same jobs on onthedot, Celery, BullMQ, huey, APScheduler and Procrastinate."""
