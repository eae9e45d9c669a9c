# Build stage: install the wheel and its dependencies into one virtual environment and compile the bytecode.
FROM python:3.13-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY workingset_mcp ./workingset_mcp
COPY fixtures/vault ./fixtures/vault
RUN python -m venv /opt/workingset \
    && /opt/workingset/bin/python -m pip install --no-cache-dir --constraint constraints.txt . \
    && /opt/workingset/bin/python -m compileall -q /opt/workingset/lib

# Final stage: runs as a numeric user, with a read-only root, no network, and the vault mounted read-only at /vault.
# docker run -i --rm --network none --read-only --tmpfs /tmp -v ~/notes:/vault:ro IMAGE
FROM python:3.13-slim
LABEL org.opencontainers.image.title="workingset-mcp" \
      org.opencontainers.image.description="Small current slices of a folder of markdown notes for agents" \
      org.opencontainers.image.source="https://github.com/workingset-mcp/workingset-mcp" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="0.1.0" \
      io.modelcontextprotocol.server.name="io.github.workingset-mcp/workingset-mcp"
COPY --from=build /opt/workingset /opt/workingset
ENV PATH="/opt/workingset/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
USER 10001:10001
ENTRYPOINT ["workingset-mcp"]
CMD ["serve", "--vault", "/vault", "--index-dir", "/tmp/index"]
