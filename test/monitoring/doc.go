// Package monitoring tests the alerts and dashboards of the chart without an instance: that they can be read, that what
// they ask for is documented, and when each alert fires. That they find data is seen in test/e2e, where a Prometheus
// scrapes an instance.
package monitoring
