// The program pictures draws the main panels of the chart's dashboards, from what a Prometheus answered to their
// expressions in a run on real clusters (test/e2e, TestDashboardsAndAlertsFindWhatTheyAskFor). It is no Grafana: the
// pictures have the data of the panels, not how Grafana draws them.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	answers := flag.String("answers", "", "folder with the answers for each dashboard")
	out := flag.String("o", ".", "folder of the pictures, dashboard-NAME.svg")
	flag.Parse()
	if err := run(*answers, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// mainPanels are the panels that are drawn besides the numbers on top, by the names of the dashboards' files.
func mainPanels() map[string][]string {
	return map[string][]string{
		"fleet": {
			"Manifests by state", "Clusters by reachability", "Versions of each module", "Module versions in Error",
			"Time from change to applied", "Kicks",
		},
		"cluster": {"States of its modules", "Last reconcile of each Manifest"},
		"workers": {
			"Waiting tasks", "Slots in use", "Activity duration", "Finished activities",
			"Requests to Temporal", "Requests to API servers", "CPU", "Memory",
		},
		"artifacts": {"Artifact requests", "Fetches"},
	}
}

// run draws a picture of each dashboard.
func run(answers, out string) error {
	for name, titles := range mainPanels() {
		recorded, err := readDashboard(filepath.Join(answers, name+".json"))
		if err != nil {
			return err
		}
		picture, err := recorded.draw(titles)
		if err != nil {
			return fmt.Errorf("draw the dashboard %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(out, "dashboard-"+name+".svg"), picture, 0o600); err != nil {
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	return nil
}
