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

// Series are all series of a metric with their values, as the process at an address exports them. Unlike Metric, it returns
// what is wrong, for a process that may not serve its metrics yet.
func Series(address, metric string) (map[string]string, error) {
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // of a test
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	found := map[string]string{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		at := strings.LastIndex(lines.Text(), " ")
		if name, _, _ := strings.Cut(lines.Text(), "{"); at >= 0 && (name == metric || lines.Text()[:at] == metric) {
			found[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	return found, lines.Err()
}
