// Package cost counts the requests that the work on clusters takes, and compares them with what they may be
// (docs/performance.md). The workers, workflows and activities are those of the product.
package cost

import (
	"testing"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
