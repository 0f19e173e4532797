package testfleet

import "github.com/stretchr/testify/assert"

// assertT is what an eventual assertion collects its failures in.
type assertT = assert.CollectT
