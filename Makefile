# Everything that a contributor needs starts here: `make` shows what there is.
# Needs Go, git and make; everything else is built from source or fetched by Go.

VERSION ?= 0.0.0-dev

# The commit that is built, and its time. Git is asked only where they are used.
COMMIT  ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)
CREATED ?= $(shell git log -1 --format=%cI 2>/dev/null || echo 1970-01-01T00:00:00Z)

# Tools, by version. They are built once, and kept outside the tree.
CONTROLLER_GEN_VERSION := v0.23.0
CRD_REF_DOCS_VERSION   := v0.3.0
GOLANGCI_LINT_VERSION  := v2.15.0
GOTESTSUM_VERSION      := v1.13.0
HELM_VERSION           := v3.22.0
HELM_DOCS_VERSION      := v1.14.2
OPENAPI_GEN_VERSION    := v0.0.0-20260721132016-d427ff9ee9ad
PROMETHEUS_VERSION     := v0.316.0

SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# Programs and tests are compiled with the same flags (test/build/compile), so that what they share is compiled once. It
# does not depend on where the repository is: a fresh clone finds it in Go's cache.
export GOFLAGS := -trimpath -gcflags=all=-dwarf=false
export CGO_ENABLED := 0

TOOLS_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lifecycle-manager/tools

CONTROLLER_GEN := $(TOOLS_DIR)/controller-gen-$(CONTROLLER_GEN_VERSION)
CRD_REF_DOCS   := $(TOOLS_DIR)/crd-ref-docs-$(CRD_REF_DOCS_VERSION)
GOLANGCI_LINT  := $(TOOLS_DIR)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOTESTSUM      := $(TOOLS_DIR)/gotestsum-$(GOTESTSUM_VERSION)
HELM           := $(TOOLS_DIR)/helm-$(HELM_VERSION)
HELM_DOCS      := $(TOOLS_DIR)/helm-docs-$(HELM_DOCS_VERSION)
OPENAPI_GEN    := $(TOOLS_DIR)/openapi-gen-$(OPENAPI_GEN_VERSION)
PROMETHEUS     := $(TOOLS_DIR)/prometheus-$(PROMETHEUS_VERSION)
PROMTOOL       := $(TOOLS_DIR)/promtool-$(PROMETHEUS_VERSION)

# Every Go module of this repository that has code of ours, the product's (.) first, but for the fleet's components: they
# pin what is built from other repositories, and to check the two files in one of them takes minutes.
MODULE_FOLDERS := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './.*')))
MODULES := $(foreach m,$(filter-out ./test/fleet/components/%,$(MODULE_FOLDERS)),$(if $(wildcard $m/*.go $m/*/*.go $m/*/*/*.go),$m))

# Packages of the product to lint, where not all modules are to be: make lint PACKAGES=./api/...
PACKAGES ?= ./...

# Not empty where the benchmarks of PACKAGES are on real clusters too.
BENCH_ON_FLEET = $(filter ./... ./test/e2e ./test/signals,$(PACKAGES))

# Files that `make generate` writes.
GENERATED = api/*/zz_generated.deepcopy.go deploy/crds/*.yaml docs/api-reference.md docs/rights.md docs/reasons.md \
	deploy/helm/lifecycle-manager/README.md deploy/helm/lifecycle-manager/files/rights.yaml deploy/helm/lifecycle-manager/files/crds/*.yaml

# Packages with a fuzz target each.
FUZZED := ./internal/registry/descriptor ./internal/model/windows ./watchers/listener/event ./watchers/listener/xfcc ./cmd/agent/internal/admission

# Packages whose goroutines share memory.
RACED = $(shell grep -rlE --include='*.go' --exclude='*_test.go' \
	'^[[:space:]]+go |[^a-z](sync|atomic|errgroup)\.[A-Z]' activities cmd/agent cmd/internal internal watchers worker | xargs -n 1 dirname | sort -u)

# Packages that encrypt, sign or verify. (In watchers/listener/credentials, Go's FIPS module panics within testing/synctest.)
CRYPTOGRAPHIC := ./internal/events/agents ./internal/model/agent ./internal/events/certificates/... ./internal/registry/signature ./cmd/agent/... ./cmd/internal/certificates \
	./watchers/listener ./watchers/listener/xfcc

# What `make image` builds, and for which platforms.
IMAGE     ?= lifecycle-manager
PLATFORMS ?= linux/amd64,linux/arm64

# What the demo runs, besides the fleet's programs.
DEMO_PROGRAMS := demo fleet sample-operator agent lifecycle-manager modules
BUILD_DEMO = go run ./test/build -version $(VERSION) -fleet $(DEMO_PROGRAMS)

##@ Everyday

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*## / {printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch modules being installed into a real cluster; ARGS="--tour rollout" for a rollout, ARGS=-h shows more
	@$(if $(filter -h -help --help,$(ARGS)),go run ./test/demo $(ARGS),echo "In the end you will see Lifecycle Manager install modules into a real cluster, and Temporal show how. Building what that needs." && $(BUILD_DEMO) && bin/demo $(ARGS))

.PHONY: build
build: ## Build PROGRAMS, or all, into bin/; VERSION=1.2.3 says which version, and then also which commit
	@go run ./test/build -version $(VERSION) -commit $(COMMIT) $(PROGRAMS)

.PHONY: image
image: ## Build the container image of IMAGE (lifecycle-manager, agent or module) into OUT for PLATFORMS; PUSH=REPOSITORY:TAG, FIPS=1
	@go run -C deploy/image . -program $(IMAGE) -platforms $(PLATFORMS) -root $(CURDIR) -out $(abspath $(or $(OUT),bin/images/$(IMAGE)$(if $(FIPS),-fips))) \
		-version $(VERSION) -commit $(COMMIT) -created $(CREATED) $(if $(FIPS),-fips) $(if $(PUSH),-push $(PUSH))

.PHONY: test
test: $(GOTESTSUM) $(HELM) $(PROMETHEUS) $(PROMTOOL) ## Run all tests, on local fleets that are brought up for them; what fails is run once more by itself
	@GOTESTSUM=$(GOTESTSUM) test/run

# The flags are those of test/run, so that each finds the results of the other in Go's cache.
.PHONY: unit
unit: $(GOTESTSUM) ## Run the tests that need no fleet, and count the others as skipped; ARGS=./activities/resolve for some of them
	@env -u LM_TEST_REQUIRE_FLEET -u LM_TEST_CONTROL_PLANE -u LM_TEST_REMOTE -u TEMPORAL_ADDRESS \
		$(GOTESTSUM) --format pkgname-and-test-fails --hide-summary skipped -- -vet=off -ldflags=-s $(or $(ARGS),./...)

.PHONY: e2e
e2e: ## Run end-to-end tests by their names, on a fleet that is brought up for them; TEST=TestTheLife, a regular expression
	@test/run ./test/e2e -run '$(or $(TEST),$(error TEST is missing: the name of a test or a regular expression, such as TEST=TestTheLife))' -v -count 1 -timeout 30m

.PHONY: record-histories
record-histories: ## Record the workflow histories that test/replay has none of; LOGIC=v2 names the version of the logic
	@RECORD_HISTORIES=$(or $(LOGIC),$(error LOGIC is missing: it names the version of the logic, see docs/contributing.md)) test/run ./test/e2e -run 'TheLifeOfAKymaWithARemote|TakeOneRunEach|TakeNoRunMore|ComeThroughIstio|CertificatesAreRenewed|InStagesAndStops|IsPausedOverARestart|FlowsFromFast|KeepsItsPlace' -v -count 1 -timeout 20m

.PHONY: record-requests
record-requests: ## Record what is asked of a cluster in its life, which test/memfleet/conformance compares fake clusters by
	@RECORD_REQUESTS=1 test/run ./test/cost -run TestTheRequestsOfALifeAreRecorded -count 1 -timeout 20m

.PHONY: fleet
fleet: ## Build bin/fleet: real clusters, Temporal and a registry on this machine (test/fleet/README.md)
	@go run ./test/build fleet

.PHONY: kubectl
kubectl: ## Build bin/kubectl, for machines that have none
	@go run ./test/build fleet
	@ln -sf "$$(bin/fleet build kubectl | grep '/kubectl$$')" bin/kubectl

.PHONY: screenshot
screenshot: ## Take the pictures of Temporal in docs/assets again; needs Chromium
	@$(BUILD_DEMO)
	@go run ./test/demo/screenshot

.PHONY: demo-film
demo-film: ## Draw docs/assets/demo.svg anew: what the demo prints, as it is printed
	@$(BUILD_DEMO)
	@go run ./test/demo/film -o docs/assets/demo.svg -- bin/demo -exit-when-ready

.PHONY: test-api
test-api: ## Test the custom resources: helpers, schemas, rules, columns
	go test ./api/... ./deploy/crds/...
	go -C api/schematest test ./...

.PHONY: bench
bench: ## Run the benchmarks, on a local fleet; PACKAGES=./internal/model/planning for some of them, without one
	@$(if $(BENCH_ON_FLEET),test/run,go test) -run '^$$' -bench . -benchtime $(or $(BENCHTIME),1s) -benchmem -timeout 180m $(PACKAGES)

.PHONY: scale
scale: ## Measure what CLUSTERS (150) Kymas with MODULES (1) modules each cost; ARGS=-h shows more
	@go run ./test/build fleet memfleet module lifecycle-manager
	@go build -buildvcs=false -o bin/scale ./test/scale
	@bin/scale -clusters $(or $(CLUSTERS),150) -modules $(if $(filter command,$(firstword $(origin MODULES))),$(MODULES),1) $(ARGS)

.PHONY: scale-compare
scale-compare: ## Compare two records of make scale, as Markdown: A=one.json B=other.json
	@go run ./test/scale compare $(or $(A),$(error A is missing: the file of a record)) $(or $(B),$(error B is missing: the file of a record))

##@ Checks

.PHONY: vet
vet: ## Run go vet in every module
	@failed=; for module in $(MODULES); do \
		echo "go vet $$module"; \
		(cd $$module && go vet ./...) || failed="$$failed $$module"; \
	done; [ -z "$$failed" ] || { echo "go vet found something in:$$failed"; exit 1; }

.PHONY: workflowcheck
workflowcheck: ## Fail where workflow code is not deterministic
	@echo "workflowcheck ./workflows"
	@# The same program for each commit and folder, or else nothing would be found in the cache.
	@go build -C test/workflowcheck -buildvcs=false -trimpath -o $(CURDIR)/bin/workflowcheck .
	@go vet -vettool=$(CURDIR)/bin/workflowcheck ./workflows/...

.PHONY: lint
lint: $(GOLANGCI_LINT) workflowcheck ## Run golangci-lint in every module; PACKAGES=./api/... for some of the product's
	@failed=; for module in $(if $(filter ./...,$(PACKAGES)),$(MODULES),.); do \
		echo "golangci-lint $$module"; \
		(cd $$module && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml $(PACKAGES)) || failed="$$failed $$module"; \
	done; [ -z "$$failed" ] || { echo "golangci-lint found something in:$$failed"; exit 1; }

.PHONY: pre-commit
pre-commit: $(GOLANGCI_LINT) ## Fast checks of what changed since BASE (HEAD): format, linter, generated files, unit tests, docs, recorded histories
	@GOLANGCI_LINT=$(GOLANGCI_LINT) test/pre-commit $(BASE)

.PHONY: check-generated
check-generated: ## Fail where generated files are stale (and renew them)
	@before="$$(sha256sum $(GENERATED))"; \
	$(MAKE) generate; \
	after="$$(sha256sum $(GENERATED))"; \
	if [ "$$before" != "$$after" ]; then \
		echo "generated files were stale; they are renewed now, so commit them:"; \
		diff <(echo "$$before") <(echo "$$after") | awk '/^[<>]/ {print "  " $$3}' | sort -u; \
		exit 1; \
	fi

##@ Nightly

# Each part is a target of its own. A part that fails does not keep the others from running.
PARTS ?= race fuzz fips mixed crashpoints soak

.PHONY: nightly
nightly: ## Run the tests that take too long for each change: race fuzz fips mixed crashpoints soak; PARTS="race fips" for some of them
	@rows= failed=; \
	for part in $(PARTS); do \
		begin=$$SECONDS result=passed; \
		printf '\n== make %s (%s)\n' "$$part" "$$(date +%H:%M:%S)"; \
		$(MAKE) "$$part" || { result=FAILED; failed="$$failed $$part"; }; \
		printf -v rows '%s%-12s %7d  %s\n' "$$rows" "$$part" $$((SECONDS - begin)) "$$result"; \
	done; \
	printf '\n%-12s %7s  %s\n%s' what seconds result "$$rows"; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# Tests of the packages whose goroutines share memory, with the race detector. It needs a C compiler, and memory of its own:
# tests that measure memory are left out.
.PHONY: race
race:
	@CGO_ENABLED=1 go test -race -vet=off -timeout 60m -skip TakesLittleMoreMemory $(addprefix ./,$(RACED))

# Random input for the parsers of what comes from outside; FUZZTIME=10s for a short run.
.PHONY: fuzz
fuzz:
	@for package in $(FUZZED); do \
		echo "fuzzing $$package for $(or $(FUZZTIME),60s)"; \
		go test $$package -run '^$$' -fuzz . -fuzztime $(or $(FUZZTIME),60s) -fuzzminimizetime 10x; \
	done

# Tests of the packages that encrypt, sign or verify, and of the image of `make image FIPS=1`, in processes that allow nothing
# but FIPS 140-3.
.PHONY: fips
fips:
	@GODEBUG=fips140=only go test -vet=off $(CRYPTOGRAPHIC)
	@IMAGE_FIPS=1 test/run ./test/e2e -run TestTheImageInstallsModulesInItsOwnRoot -v -count 1 -timeout 60m

# The previous release beside this one, with other choices each day; MIXED_SEEDS="1 2 3" for certain ones.
.PHONY: mixed
mixed:
	@for seed in $(or $(MIXED_SEEDS),$(foreach n,1 2 3,$(shell date +%y%j)$n)); do \
		MIXED_SEED=$$seed test/run ./test/e2e -run TestThePreviousReleaseAndThisOneWorkOnOneFleet -v -count 1 -timeout 30m; \
	done

# The work on a module is cut off before and after each of its writes, and the process is killed during it. make test runs a
# sample of both.
.PHONY: crashpoints
crashpoints:
	@CRASHPOINTS=all test/run ./test/crashpoints -v -count 1 -timeout 60m
	@CRASHPOINTS=all test/run ./test/e2e -run AProcessKilledDuringItsWork -v -count 1 -timeout 30m

# The end-to-end tests RUNS times in a row, half of them on a busy machine.
.PHONY: soak
soak: $(GOTESTSUM)
	@GOTESTSUM=$(GOTESTSUM) test/soak $(or $(RUNS),2)

##@ Generated files

.PHONY: generate
generate: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(HELM_DOCS) ## Generate deep copies, CRDs, the API reference, the table of hints, and what the chart has of them
	go run ./internal/platform/hint/generate
	$(CONTROLLER_GEN) object crd paths=./api/... output:crd:artifacts:config=deploy/crds
	go run ./deploy/crds/generate
	$(CRD_REF_DOCS) --config api/crd-ref-docs.yaml --source-path api/v1beta2 --renderer markdown \
		--output-path docs/api-reference.md --log-level ERROR
	go run ./deploy/rights/generate
	$(HELM_DOCS) --chart-search-root deploy/helm --log-level warning

# Tests compare the pages, and compile for longer than all of generate takes.
.PHONY: commands
commands: ## Generate the pages that are the help of commands
	UPDATE_COMMANDS=1 go test ./cmd/lifecycle-manager -run TestThePageOfTheCommands -count 1
	UPDATE_COMMANDS=1 go test -C cmd/module ./command -run TestThePageOfTheCommands -count 1

# Takes a minute, and what it writes changes only with the version of k8s.io/api
# in cmd/module/go.mod, to which a test compares it: so it is no part of generate.
.PHONY: generate-fields
generate-fields: $(OPENAPI_GEN) ## Generate what module lint knows of Kubernetes' fields, after k8s.io/api was raised
	go run -C cmd/module ./lint/generate -openapi-gen $(OPENAPI_GEN)

##@ Tools

.PHONY: helm
helm: $(HELM) ## Build Helm and print where it is
	@echo $(HELM)

.PHONY: prometheus
prometheus: $(PROMETHEUS) ## Build Prometheus and print where it is
	@echo $(PROMETHEUS)

.PHONY: promtool
promtool: $(PROMTOOL) ## Build promtool and print where it is
	@echo $(PROMTOOL)

.PHONY: tools
tools: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(HELM) $(HELM_DOCS) $(GOLANGCI_LINT) $(GOTESTSUM) $(PROMETHEUS) $(PROMTOOL) ## Build the tools, which the other targets do as needed

# Builds a tool into a folder of its own first, so that a build that was broken
# off leaves no incomplete tool.
define build-tool
	@mkdir -p $(TOOLS_DIR)
	@echo "building $(notdir $@) (once)"
	@folder=$$(mktemp -d $(TOOLS_DIR)/build-XXXXXX); trap 'rm -rf "$$folder"' EXIT; \
	GOBIN="$$folder" GOGC=400 go install -v $(1) 2>&1 | awk -v of=$(notdir $@) \
		'/^[^ :]+$$/ {if (++n % 100 == 0) {print "building " of ": " n " packages compiled"; fflush()} next} !/^go: downloading/'; \
	mv "$$folder"/* $@
endef

$(CONTROLLER_GEN):
	$(call build-tool,sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION))

$(CRD_REF_DOCS):
	$(call build-tool,github.com/elastic/crd-ref-docs@$(CRD_REF_DOCS_VERSION))

# Without a version, the chart demands a newer Kubernetes than Helm thinks it renders for.
$(HELM):
	$(call build-tool,-ldflags "-s -w -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37" helm.sh/helm/v3/cmd/helm@$(HELM_VERSION))

$(HELM_DOCS):
	$(call build-tool,github.com/norwoodj/helm-docs/cmd/helm-docs@$(HELM_DOCS_VERSION))

$(GOLANGCI_LINT):
	$(call build-tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION))

$(GOTESTSUM):
	$(call build-tool,gotest.tools/gotestsum@$(GOTESTSUM_VERSION))

$(OPENAPI_GEN):
	$(call build-tool,k8s.io/kube-openapi/cmd/openapi-gen@$(OPENAPI_GEN_VERSION))

# Without what finds targets in clouds, of which tests use nothing.
$(PROMETHEUS):
	$(call build-tool,-tags remove_all_sd github.com/prometheus/prometheus/cmd/prometheus@$(PROMETHEUS_VERSION))

$(PROMTOOL):
	$(call build-tool,-tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool@$(PROMETHEUS_VERSION))
