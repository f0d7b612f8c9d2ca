# A static program and nothing else: no shell, no libc, no Python.
FROM scratch
COPY count /count
USER 65532:65532
ENTRYPOINT ["/count"]
