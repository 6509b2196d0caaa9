# The worker as a container: the tasks of Fargate pools, or anywhere else that runs containers.
#
#   docker build -t onthedot-worker .
#   docker run --rm --read-only --tmpfs /tmp -e ONTHEDOT_URL=… -e ONTHEDOT_TOKEN=… onthedot-worker worker --pool pull
#
# Jobs of an app (`@job` handlers): build on this image, add the app, and run `worker --app your.module`.
ARG BASE=python:3.13-slim
FROM ${BASE}

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONUNBUFFERED=1 \
    PYTHONTZPATH=""

WORKDIR /opt/onthedot

# Files that change seldom come first: exactly these packages, by their hashes, without any that must be compiled.
COPY worker.lock ./
RUN pip install --require-hashes --only-binary :all: -r worker.lock

COPY pyproject.toml README.md LICENSE ./
COPY layers/core/python/onthedot layers/core/python/onthedot
RUN pip install --no-deps .

# A user without rights. The root file system may be read-only. A volume over /tmp gets the rights that /tmp has here.
RUN useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin worker
USER 10001
WORKDIR /tmp
VOLUME ["/tmp"]

ENTRYPOINT ["onthedot"]
CMD ["worker"]
