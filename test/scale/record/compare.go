package record

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// Compare prints two records as a table.
func Compare(to io.Writer, files []string) error {
	if len(files) != 2 {
		return errors.New("compare A.json B.json: two records are to be given")
	}
	a, err := Read(files[0])
	if err != nil {
		return err
	}
	b, err := Read(files[1])
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, table(a, b))
	return err
}

// table is a Markdown table of two records. Phases are matched by name; one that only one of them has is omitted.
func table(a, b *Record) string {
	text := "| | A | B | B/A |\n|---|---|---|---|\n"
	for _, row := range settings(a, b) {
		text += fmt.Sprintf("| %s | %s | %s | |\n", row[0], row[1], row[2])
	}
	for _, pa := range a.Phases {
		at := slices.IndexFunc(b.Phases, func(p Phase) bool { return p.Name == pa.Name })
		if at < 0 {
			continue
		}
		fa, fb := pa.figures(), b.Phases[at].figures()
		text += fmt.Sprintf("| **%s** | %d Kymas | %d Kymas | |\n", pa.Name, pa.Kymas, b.Phases[at].Kymas)
		for _, name := range names(fa, fb) {
			va, inA := find(fa, name)
			vb, inB := find(fb, name)
			text += fmt.Sprintf("| %s | %s | %s | %s |\n", name, cell(va, inA), cell(vb, inB), ratio(va, vb, inA && inB))
		}
	}
	return text
}

// settings are what was measured, of each record.
func settings(a, b *Record) [][3]string {
	row := func(name string, value func(*Record) string) [3]string { return [3]string{name, value(a), value(b)} }
	return [][3]string{
		row("commit", func(r *Record) string { return r.Commit }),
		row("machine", func(r *Record) string { return fmt.Sprintf("%d cores, %s", r.Machine.Core, r.Machine.CPU) }),
		row("Temporal's store", func(r *Record) string { return fmt.Sprintf("%s, %d shards", r.Temporal.Store, r.Temporal.Shards) }),
		row("scenario", func(r *Record) string { return r.Scenario }),
		row("clusters, modules, objects", func(r *Record) string { return fmt.Sprintf("%d, %d, %d", r.Clusters, r.Modules, r.Objects) }),
		row("worker processes", func(r *Record) string { return strconv.Itoa(r.Workers) }),
	}
}

// figure is one number of a phase.
type figure struct {
	name  string
	value float64
}

// figures are the numbers of a phase that are worth a line.
func (p *Phase) figures() []figure {
	per := float64(max(1, p.Kymas))
	all := []figure{{"seconds", p.Seconds}, {"Kymas per second", p.PerSecond}, {"busy cores", p.Machine.Busy}, {"cores that waited for a disk", p.Machine.Waiting}}
	for _, what := range slices.Sorted(maps.Keys(p.Latencies)) {
		l := p.Latencies[what]
		all = append(all, figure{what + ", first, s", l.Min}, figure{what + ", p50, s", l.P50}, figure{what + ", p90, s", l.P90}, figure{what + ", p99, s", l.P99}, figure{what + ", longest, s", l.Max})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Processes)) {
		all = append(all, figure{"processor time per Kyma, " + name + ", ms", p.Processes[name].CPUPerKyma})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Processes)) {
		all = append(all, figure{"most memory, " + name + ", MiB", float64(p.Processes[name].MaxMemory)})
	}
	all = append(all,
		figure{"requests to the control plane per Kyma", Round(float64(p.ControlPlane.total()) / per)},
		figure{"… that write", Round(float64(p.ControlPlane.writes()) / per)},
		figure{"requests to the remote cluster per Kyma", Round(float64(p.Remote.total()) / per)},
		figure{"… which write", Round(float64(p.Remote.writes()) / per)},
		figure{"growth of Temporal's database per Kyma, KiB", Round(float64(p.Database.Grown) / 1024 / per)},
		figure{"updates of workflow state per Kyma", Round(float64(p.Database.StateUpdates) / per)},
		figure{"transactions of Temporal's database per Kyma", Round(float64(p.Database.Transactions) / per)},
	)
	for _, kind := range slices.Sorted(maps.Keys(p.Histories)) {
		all = append(all, figure{"events of a " + kind + " so far", p.Histories[kind].Events})
	}
	return all
}

// names are those of both, in their order.
func names(a, b []figure) []string {
	var all []string
	for _, f := range slices.Concat(a, b) {
		if !slices.Contains(all, f.name) {
			all = append(all, f.name)
		}
	}
	return all
}

func find(all []figure, name string) (float64, bool) {
	for _, f := range all {
		if f.name == name {
			return f.value, true
		}
	}
	return 0, false
}

func cell(value float64, ok bool) string {
	if !ok {
		return ""
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// ratio is empty where there is none.
func ratio(a, b float64, both bool) string {
	if !both || a == 0 {
		return ""
	}
	return strconv.FormatFloat(b/a, 'f', 2, 64)
}
