# Two images of loomrec, both without root. The binary `loomrec` lies beside, made for the image's
# system; the smaller image needs a static one, of the archive for *-linux-musl.

# With curl, for the health check of Docker Compose.
FROM debian:stable-slim AS with-curl
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/*
COPY --chmod=755 loomrec /usr/local/bin/loomrec
USER 65532:65532
ENTRYPOINT ["loomrec"]

# The binary and the certificates that recording needs, and nothing else: no shell.
FROM scratch AS static
COPY --from=with-curl /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --chmod=755 loomrec /loomrec
USER 65532:65532
ENTRYPOINT ["/loomrec"]
