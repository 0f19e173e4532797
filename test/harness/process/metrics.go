package process

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Metric is the value of the first series whose line begins with this text, among the metrics of the process at an
// address; empty where there is none.
func Metric(t *testing.T, address, series string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // of a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), series) {
			return lines.Text()[strings.LastIndex(lines.Text(), " ")+1:]
		}
	}
	require.NoError(t, lines.Err())
	return ""
}
