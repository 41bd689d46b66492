# The image that `ecotone manifests --image` names: small, non-root, fit for a read-only root file system.
#
#   docker build -t registry.example/ecotone:0.1.0 .
#   docker push registry.example/ecotone:0.1.0
#   ecotone manifests --image registry.example/ecotone:0.1.0 | kubectl apply -f -
#
# Packages come from the lock file, by hash.
FROM python:3.11-slim AS build
WORKDIR /source
COPY requirements/run.lock requirements/build.lock requirements/
# Wheels alone, checked by hash: nothing that is fetched runs a program of its own while it is installed.
RUN python -m pip wheel --quiet --no-cache-dir --require-hashes --only-binary :all: --wheel-dir /wheels \
      -r requirements/run.lock \
 && python -m pip install --quiet --no-cache-dir --require-hashes --only-binary :all: -r requirements/build.lock
COPY pyproject.toml README.md LICENSE hatch_build.py ./
COPY scripts/compile.py scripts/
COPY src src
RUN python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m venv /opt/ecotone \
 && /opt/ecotone/bin/python -m pip install --quiet --no-cache-dir --no-compile --no-index --find-links /wheels ecotone

FROM python:3.11-slim
COPY --from=build /opt/ecotone /opt/ecotone
ENV PATH=/opt/ecotone/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["ecotone"]
