# The trip server, as docs/serving.md has it: compose.yaml builds and runs it.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY tripwright tripwright
COPY recipes recipes
RUN python -m venv /opt/tripwright && /opt/tripwright/bin/pip install --no-cache-dir '.[web]'

FROM python:3.12-slim
COPY --from=build /opt/tripwright /opt/tripwright
RUN useradd --uid 10001 traveller && mkdir /data && chown traveller /data
USER 10001
WORKDIR /data
VOLUME /data
ENV PATH=/opt/tripwright/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["tripwright"]
CMD ["serve", "--host", "0.0.0.0", "--state", "/data/trips.sqlite"]
