# `make demo` and `make test` need Python 3.11 or later with venv, and a C++17 compiler. CMake and ninja come from PyPI.
# Each target runs the commands below and nothing else. All virtual environments are in build/.

# Dependencies are installed while the simulator is compiled. Several goals (`make clean test`) run one after another.
ifeq (,$(word 2,$(MAKECMDGOALS)))
MAKEFLAGS += --jobs=2
endif
# The tests start many processes, each of which would compile all modules of Python again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
JOBS ?= 2
SOURCES := $(shell find python dialect lowering runtime CMakeLists.txt pyproject.toml README.md LICENSE -type f -not -path '*/__pycache__/*')
WHEEL := build/wheel/.built
CHECK := build/check
PROGRESS = $(PYTHON) .ci/progress.py
# One pip installs into all environments: copies of pip, and modules that are compiled before they are used, take longer.
VENV = $(PYTHON) -m venv --clear --without-pip
PIP = build/venv-build/bin/pip --quiet
INSTALL = $(PROGRESS) "installing $(1) into $(@D)" $(PIP) --python $(@D)/bin/python install --no-compile
DEPENDENCIES = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")
# Strings have the same hashes in every run, so that a commit that passed passes again.
PYTEST = cd $(CHECK) && PYTHONHASHSEED=1 ../venv-test/bin/python -m pytest -n $(JOBS) --dist worksteal
extras_test := [test]
extras_peers := [test,peers]
extras_schedule := [test,schedule]
extras_fuzz := [test,fuzz]
extras_docs := [docs]
FUZZ_INPUTS ?= 200000
FUZZ_PROGRAMS ?= 3000
FUZZ_KERNELS ?= 500
FUZZ_MULTIPLIES ?= 20000
FUZZ_SLICES ?= 1000
FUZZ_MUTATIONS ?= 200000
MUTANTS ?= 60
SEED ?= 1
# The folders with tests that need the packages of the extra 'peers'.
PEERS := tests/peers tests/irdl tests/ptxsim
# Which of how many slices of the tests outside of the core suite run: 1/3 is the second of three.
SLICE ?= 0/1

.PHONY: demo environments test test-all test-rest test-peers test-torch test-schedule golden soak soak-peers fuzz mutants docs wheel lint format clean

demo: build/venv-demo/.installed
	build/venv-demo/bin/python examples/matmul.py --out build/demo

# The virtual environments of the tests of every change, beside that of the demo.
environments: $(patsubst %,build/venv-%/.installed,test peers schedule docs) $(CHECK)/.copied

# The core suite, which tests/conftest.py defines.
test: build/venv-test/.installed $(CHECK)/.copied
	@echo "core suite, about 5 minutes on two cores (make test-all runs all tests, about 35 minutes)"
	$(PYTEST) -m core

# Each message of the package must be produced by a test, but those of tests/messages/unproduced.txt.
test-all: build/venv-test/.installed $(CHECK)/.copied
	@echo "all tests, about 35 minutes on two cores (make test runs the core suite, about 5 minutes)"
	$(PYTEST) -p tests.messages.collector --every-message

# The tests of test-all that are not in the core suite, or a slice of them.
test-rest: build/venv-test/.installed $(CHECK)/.copied
	@echo "the tests outside of the core suite, slice $(SLICE), about 30 minutes on two cores for all"
	$(PYTEST) -m "not core and not peers and not torch and not soak" --slice $(SLICE)

# Writes the expected PTX of tests/golden. The commit message states which lines changed, and why.
golden: build/venv-test/.installed
	build/venv-test/bin/python tests/golden/golden_ptx.py

test-peers: build/venv-peers/.installed $(CHECK)/.copied
	cd $(CHECK) && ../venv-peers/bin/python -m pytest -n $(JOBS) --dist worksteal -m "peers and not soak" --slice $(SLICE) $(PEERS)

# PyPI lacks the CPU build of PyTorch. PyTorch's own index has it:
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make test-torch
test-torch: build/venv-peers/.torch $(CHECK)/.copied
	cd $(CHECK) && ../venv-peers/bin/python -m pytest -m torch tests/peers/test_torch.py

# The exact scheduler, with the proofs that take longer than a second.
test-schedule: build/venv-schedule/.installed $(CHECK)/.copied
	cd $(CHECK) && ../venv-schedule/bin/python -m pytest -m "soak or not soak" tests/schedule

soak: build/venv-test/.installed $(CHECK)/.copied
	cd $(CHECK) && ../venv-test/bin/python -m pytest -n $(JOBS) -m soak

# The largest kernels of CUTLASS, each of which nvcc compiles for a minute or more.
soak-peers: build/venv-peers/.installed $(CHECK)/.copied
	cd $(CHECK) && ../venv-peers/bin/python -m pytest -n $(JOBS) -m "peers and soak" $(PEERS)

fuzz: build/venv-fuzz/.installed $(CHECK)/.copied
	cd $(CHECK) && ../venv-fuzz/bin/python -m pytest -m "hypothesis and not soak" --hypothesis-profile "new examples"
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py assembly --inputs $(FUZZ_INPUTS) --work build/fuzz-assembly
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py bytecode --inputs $(FUZZ_INPUTS) --work build/fuzz-bytecode
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py programs --inputs $(FUZZ_PROGRAMS) --seed $(SEED) --work build/fuzz-programs
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py exits --inputs $(FUZZ_PROGRAMS) --seed $(SEED) --work build/fuzz-exits
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py kernels --inputs $(FUZZ_KERNELS) --seed $(SEED) --work build/fuzz-kernels
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py multiplies --inputs $(FUZZ_MULTIPLIES) --seed $(SEED) --work build/fuzz-multiplies
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py slices --inputs $(FUZZ_SLICES) --seed $(SEED) --work build/fuzz-slices
	build/venv-fuzz/bin/python $(CHECK)/tests/fuzz/fuzz.py mutations --inputs $(FUZZ_MUTATIONS) --seed $(SEED) --work build/fuzz-mutations

mutants: build/venv-test/.installed $(CHECK)/.copied
	build/venv-test/bin/python $(CHECK)/tests/mutants/compiler.py --count $(MUTANTS) --seed $(SEED)
	build/venv-test/bin/python $(CHECK)/tests/mutants/attributes.py

# The wheel for other machines, in build/dist: the manylinux tag that its symbols allow, and the stable ABI from 3.12 on.
wheel: $(WHEEL)
	$(VENV) build/venv-audit
	$(PIP) --python build/venv-audit/bin/python install --requirement .ci/wheel-requirements.txt
	rm -rf build/dist
	PATH="$(CURDIR)/build/venv-audit/bin:$$PATH" auditwheel repair --wheel-dir build/dist build/wheel/*.whl
	find build/dist -name '*-abi3-*.whl' -exec build/venv-audit/bin/abi3audit --strict --summary {} +

# Warnings are errors. The site is build/docs/index.html.
docs: build/venv-docs/.installed
	build/venv-docs/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs

lint: build/venv-lint/.installed build/typecheck/.linked
	build/venv-lint/bin/ruff check .
	build/venv-lint/bin/mypy
	find runtime tests -name '*.cpp' -o -name '*.h' | xargs build/venv-lint/bin/clang-format --dry-run --Werror

format: build/venv-lint/.installed
	build/venv-lint/bin/ruff check --fix .
	find runtime tests -name '*.cpp' -o -name '*.h' | xargs build/venv-lint/bin/clang-format -i

clean:
	rm -rf build out

# Tests run against the installed wheel, which is rebuilt and reinstalled if its sources change.
$(WHEEL): $(SOURCES) | build/venv-build/.created
	rm -rf build/wheel
	@$(PROGRESS) "building the wheel of tilec" build/venv-build/bin/pip wheel --verbose --no-deps --wheel-dir build/wheel .
	touch $@

build/venv-build/.created:
	@$(PROGRESS) "creating $(@D)" $(PYTHON) -m venv --clear $(@D)
	touch $@

.PRECIOUS: build/venv-%/.dependencies
build/venv-%/.dependencies: pyproject.toml | build/venv-build/.created
	@$(VENV) $(@D)
	@$(PYTHON) -c '$(DEPENDENCIES)' > $(@D)/requirements.txt
	@$(call INSTALL,the dependencies of tilec) --requirement $(@D)/requirements.txt
	touch $@

build/venv-%/.installed: $(WHEEL) build/venv-%/.dependencies
	@$(call INSTALL,tilec) --no-deps --force-reinstall build/wheel/*.whl
	@$(if $(extras_$*),$(call INSTALL,the extras of tilec) "$$(echo build/wheel/*.whl)$(extras_$*)")
	touch $@

build/venv-peers/.torch: build/venv-peers/.installed
	@$(call INSTALL,PyTorch) "$$(echo build/wheel/*.whl)[torch]"
	touch $@

build/venv-lint/.installed: .ci/lint-requirements.txt $(WHEEL)
	$(VENV) $(@D)
	@$(call INSTALL,linters) build/wheel/*.whl --requirement .ci/lint-requirements.txt
	touch $@

# Tests, examples and benchmarks are copied to a folder without the sources, where only the installed package can be imported.
$(CHECK)/.copied: $(shell find tests examples benchmarks docs -type f -not -path '*/__pycache__/*') pyproject.toml
	rm -rf $(CHECK)
	mkdir -p $(CHECK)
	cp -r tests examples benchmarks docs pyproject.toml README.md CONTRIBUTING.md DECISIONS.md CHANGELOG.md Makefile $(CHECK)
	touch $@

# The layout of the installed package, as symbolic links to the four source folders.
build/typecheck/.linked: $(shell find python/tilec -maxdepth 1)
	rm -rf build/typecheck
	mkdir -p build/typecheck/tilec
	ln -s $(CURDIR)/python/tilec/* $(CURDIR)/dialect $(CURDIR)/lowering $(CURDIR)/runtime build/typecheck/tilec/
	touch $@
