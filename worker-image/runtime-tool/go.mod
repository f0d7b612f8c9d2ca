module torpor.dev/runtime-tool

go 1.25.0
