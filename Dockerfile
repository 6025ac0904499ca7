# The image of Belay's server, worker and command (docs/guides/deploy.md). The last stage has no npm and no compiler, and
# nothing that its user can write. A release names both base images by digest:
#   docker build --build-arg NODE_IMAGE=node@sha256:… --build-arg BASE_IMAGE=debian@sha256:… --build-arg REVISION=$(git rev-parse HEAD) .
ARG NODE_IMAGE=node:20.20.2-bookworm-slim
ARG BASE_IMAGE=debian:12.12-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
RUN npm install --no-audit --no-fund
RUN npm run build
# The commit, which `/health` reports with the version; the builder gets no history.
ARG REVISION
RUN node build/image.mjs /image

FROM ${BASE_IMAGE}
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /image /app
# `belay` is the command, as in: docker compose exec server-1 belay doctor
ENV PATH=/app/bin:$PATH \
    NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    BELAY_CONFIG=/etc/belay \
    BELAY_DATA=/data
WORKDIR /app
# The account is a number, so that Kubernetes can check that it is not root (runAsNonRoot).
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/health.mjs"]
ENTRYPOINT ["node", "/app/apps/server/bundle/main.js"]
