# Needs Go, git and make; everything else is built from source or fetched by Go.
.DEFAULT_GOAL := help
VERSION ?= 0.0.0-dev

.PHONY: help
help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## watch modules being installed into a real cluster; ARGS=--exit-when-ready ends by itself, ARGS=-h shows more
	@bin/demo $(ARGS)

.PHONY: build
build: ## build all programs into bin/
	@go run ./test/build -version $(VERSION)

.PHONY: fleet
fleet: ## build bin/fleet: real clusters, Temporal and a registry on this machine (test/fleet/README.md)
	@go run ./test/build fleet

.PHONY: screenshot
screenshot: build ## take docs/assets/temporal-ui.png anew; needs Chromium
	@test/demo/screenshot.sh
