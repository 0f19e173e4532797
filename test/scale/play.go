package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
	"github.com/kyma-project/lifecycle-manager/test/scale/scenarios"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// player plays a scenario.
type player struct {
	*environment
	// releases are the numbers of the modules' versions.
	releases []int
	// next is the number of the Kyma that is made next, and there are those that are there.
	next  int
	there []int
	// edited are the Kymas that have the additional module.
	edited map[int]bool
}

// play plays the scenario. It returns what was measured so far also with an error.
func play(ctx context.Context, e *environment) (*record.Record, error) {
	manager, err := processes.Output(ctx, nil, e.manager, "version")
	if err != nil {
		return nil, err
	}
	r := &record.Record{
		StartedAt: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx), Manager: strings.TrimSpace(string(manager)), Machine: record.ThisMachine(),
		Scenario: e.scenario.Name, Flags: e.scenario.ManagerFlags, Clusters: e.options.clusters, Modules: e.modules, Objects: e.objects, Workers: e.workers,
		Latency: e.latency.String(), ReadyAfter: e.readyAfter.String(), ReadySpread: e.readySpread.String(), Temporal: e.temporal,
	}
	p := &player{environment: e, releases: slices.Repeat([]int{-1}, e.modules), edited: map[int]bool{}}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	for _, s := range e.scenario.Phases {
		say("%s", s.Name)
		before, began := slices.Clone(p.there), time.Now()
		measured, err := e.measure(ctx, s, func(ctx context.Context) (outcome, error) { return p.do(ctx, s) })
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
		report(measured)
		// What follows from it, such as further reconciles and Events, is not the next phase's.
		if err := pause(ctx, durationOr(e.scenario.Settle, 3*time.Second)); err != nil {
			return r, err
		}
		if measured.Histories, err = e.sampleHistories(ctx, workedOn(before, p.there), began); err != nil {
			return r, err
		}
		measured.Failed = s.Expect.Exceeded(measured)
		for _, failed := range measured.Failed {
			say("  FAILED: %s", failed)
		}
		r.Phases = append(r.Phases, measured)
	}
	return r, nil
}

// workedOn are the Kymas that a phase is about: those that it made, those that it deleted, or else all.
func workedOn(before, after []int) []int {
	for _, changed := range [][]int{without(after, before), without(before, after)} {
		if len(changed) > 0 {
			return changed
		}
	}
	return after
}

func without(all, these []int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(k int) bool { return slices.Contains(these, k) })
}

func (p *player) prepare(ctx context.Context) error {
	if err := p.pushNext(ctx, 0); err != nil {
		return err
	}
	if slices.ContainsFunc(p.scenario.Phases, scenarios.Phase.EditsKymas) {
		if err := p.push(ctx, firstVersion, p.modules); err != nil {
			return err
		}
	}
	if p.scenario.Policy != nil {
		if err := p.makePolicy(ctx, *p.scenario.Policy); err != nil {
			return err
		}
	}
	return p.access(ctx)
}

// firstVersion is the version that modules begin with, and that the additional one stays in.
const firstVersion = "1.0.0"

// additional is the module that edits are about.
func (p *player) additional() string { return moduleName(p.modules) }

// after are the numbers of the modules' versions after the next version of the first so many; 0 are all.
func (p *player) after(count int) []int {
	after := slices.Clone(p.releases)
	for m := range after {
		if count == 0 || m < count {
			after[m]++
		}
	}
	return after
}

// pushNext pushes the next version of the first so many modules, by default of all, but not of the additional one.
func (p *player) pushNext(ctx context.Context, count int) error {
	before := p.releases
	p.releases = p.after(count)
	for m, release := range p.releases {
		if release == before[m] {
			continue
		}
		if err := p.push(ctx, versionOf(release), m); err != nil {
			return err
		}
	}
	return nil
}

func versionOf(release int) string { return fmt.Sprintf("1.%d.0", release) }

// ready reports whether a Kyma has all modules in these versions.
func (p *player) ready(releases []int) seen {
	versions := map[string]string{}
	for m, release := range releases {
		versions[moduleName(m)] = versionOf(release)
	}
	return allReady(versions)
}

// do does what a phase is about.
func (p *player) do(ctx context.Context, s scenarios.Phase) (outcome, error) {
	switch {
	case s.Warm != nil:
		return p.install(ctx, scenarios.Install{Kymas: s.Warm.Kymas, OneByOne: true})
	case s.Install != nil:
		return p.install(ctx, *s.Install)
	case s.Upgrade != nil:
		return p.upgrade(ctx, *s.Upgrade)
	case s.Delete != nil:
		return p.delete(ctx, *s.Delete)
	case s.Idle != nil:
		return outcome{kymas: len(p.there)}, pause(ctx, s.Idle.For.Duration)
	case s.Edits != nil:
		return p.edits(ctx, *s.Edits)
	case s.Restart != nil:
		return p.restart(ctx, *s.Restart)
	case s.BlackHole != nil:
		return p.blackHole(ctx, *s.BlackHole)
	case s.Rollout != nil:
		return p.rollOut(ctx, *s.Rollout)
	default:
		return p.loseTemporal(ctx, *s.LoseTemporal)
	}
}

func (p *player) install(ctx context.Context, s scenarios.Install) (outcome, error) {
	count := p.all() - p.next
	if s.Kymas > 0 && s.Kymas < count {
		count = s.Kymas
	}
	if count == 0 {
		return outcome{}, errors.New("all Kymas are there already")
	}
	var kymas []int
	for range count {
		kymas = append(kymas, p.next)
		p.next++
	}
	p.there = append(p.there, kymas...)
	all := newWaiting()
	result := outcome{kymas: count, latencies: map[string]*waiting{"kymas": all}}
	if !s.OneByOne {
		all.forAll(kymas, p.ready(p.releases))
		return result, p.observe(ctx, allMost, func(ctx context.Context) error { return p.create(ctx, kymas) }, all)
	}
	for _, kyma := range kymas {
		one := []int{kyma}
		all.forAll(one, p.ready(p.releases))
		if err := p.observe(ctx, oneMost, func(ctx context.Context) error { return p.create(ctx, one) }, all); err != nil {
			return outcome{}, err
		}
	}
	return result, nil
}

func (p *player) upgrade(ctx context.Context, s scenarios.Upgrade) (outcome, error) {
	all := newWaiting().forAll(p.there, p.ready(p.after(s.Modules)))
	return outcome{kymas: len(p.there), latencies: map[string]*waiting{"kymas": all}},
		p.observe(ctx, allMost, func(ctx context.Context) error { return p.pushNext(ctx, s.Modules) }, all)
}

func (p *player) delete(ctx context.Context, s scenarios.Deletion) (outcome, error) {
	// Those that came last, since the first ones were warm.
	count := len(p.there)
	if s.Kymas > 0 {
		count = min(count, s.Kymas)
	}
	gone := slices.Clone(p.there[len(p.there)-count:])
	p.there = p.there[:len(p.there)-count]
	all := newWaiting().forAll(gone, isGone)
	return outcome{kymas: count, latencies: map[string]*waiting{"kymas": all}},
		p.observe(ctx, allMost, func(ctx context.Context) error { return p.remove(ctx, gone) }, all)
}

func (p *player) edits(ctx context.Context, s scenarios.Edits) (outcome, error) {
	edited, upgraded := newWaiting(), newWaiting()
	lost, there := p.split(s.Lost)
	result := outcome{kymas: min(s.Count, len(there)), latencies: map[string]*waiting{"edits": edited}}
	if s.WhileUpgrading {
		result.kymas, result.latencies["kymas"] = len(there), upgraded
		upgraded.forAll(there, p.ready(p.after(s.Modules)))
	}
	if err := p.setFaults(ctx, faultOf(lost)); err != nil {
		return outcome{}, err
	}
	err := p.observe(ctx, allMost, func(ctx context.Context) error {
		if s.WhileUpgrading {
			if err := p.pushNext(ctx, s.Modules); err != nil {
				return err
			}
		}
		if s.WhileHanging {
			if err := p.pushHanging(ctx); err != nil {
				return err
			}
		}
		return p.editSome(ctx, there, s.Count, s.Where, durationOr(s.Every, 100*time.Millisecond), edited)
	}, edited, upgraded)
	if err != nil || len(lost) == 0 {
		return result, err
	}
	result.latencies["recovered"], err = p.answerAgain(ctx, lost)
	return result, err
}

// answerAgain lets all clusters answer again, and waits until those that did not have what is newest.
func (p *player) answerAgain(ctx context.Context, lost []int) (*waiting, error) {
	recovered := newWaiting().forAll(lost, p.ready(p.releases))
	return recovered, p.observe(ctx, allMost, func(ctx context.Context) error { return p.setFaults(ctx, nil) }, recovered)
}

// split returns a part of the Kymas, evenly spread, and the others.
func (p *player) split(share float64) (part, others []int) {
	for i, kyma := range p.there {
		// Where the share of those up to here passes a whole number.
		if int(float64(i+1)*share) > int(float64(i)*share) {
			part = append(part, kyma)
		} else {
			others = append(others, kyma)
		}
	}
	return part, others
}

// pushHanging publishes a version of the first module with an object to which no cluster answers.
func (p *player) pushHanging(ctx context.Context) error {
	p.releases[0]++
	if err := p.setFaults(ctx, map[string]any{"name": "hangs", "resources": []string{"statefulsets"}, "blackHole": true}); err != nil {
		return err
	}
	version := versionOf(p.releases[0])
	return p.pushManifest(ctx, version, 0, moduleManifest(moduleName(0), version, p.objects)+hangingObject)
}

// editSome edits so many of these Kymas, from all over the fleet and one after the other, and records the expected result of each.
func (p *player) editSome(ctx context.Context, kymas []int, count int, where string, every time.Duration, edited *waiting) error {
	count = min(count, len(kymas))
	for i := range count {
		kyma := kymas[i*len(kymas)/count]
		add := !p.edited[kyma]
		p.edited[kyma] = add
		edited.forAll([]int{kyma}, hasModule(p.additional(), add))
		if err := p.edit(ctx, kyma, where, p.additional(), add); err != nil {
			return err
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) restart(ctx context.Context, s scenarios.Restart) (outcome, error) {
	p.stopManagers(s.Kill)
	all := newWaiting()
	result := outcome{kymas: len(p.there), latencies: map[string]*waiting{"recovered": all}}
	down := time.Now()
	if s.Upgrade {
		if err := p.pushNext(ctx, 0); err != nil {
			return outcome{}, err
		}
	}
	if err := p.editSome(ctx, p.there, s.Edits, scenarios.ControlPlane, 0, all); err != nil {
		return outcome{}, err
	}
	if err := pause(ctx, durationOr(s.Down, 0)-time.Since(down)); err != nil {
		return outcome{}, err
	}
	all.beginNow()
	if s.Upgrade {
		all.forAll(p.there, p.ready(p.releases))
	}
	if err := p.observe(ctx, allMost, p.startManagers, all); err != nil {
		return outcome{}, err
	}
	return result, pause(ctx, durationOr(s.For, 0))
}

func (p *player) blackHole(ctx context.Context, s scenarios.BlackHole) (outcome, error) {
	lost, others := p.split(s.Share)
	if err := p.setFaults(ctx, faultOf(lost)); err != nil {
		return outcome{}, err
	}
	began := time.Now()
	healthy := newWaiting().forAll(others, p.ready(p.after(s.Modules)))
	if err := p.observe(ctx, allMost, func(ctx context.Context) error { return p.pushNext(ctx, s.Modules) }, healthy); err != nil {
		return outcome{}, err
	}
	if err := pause(ctx, durationOr(s.For, 0)-time.Since(began)); err != nil {
		return outcome{}, err
	}
	recovered, err := p.answerAgain(ctx, lost)
	return outcome{kymas: len(p.there), latencies: map[string]*waiting{"kymas": healthy, "recovered": recovered}}, err
}

// faultOf is that these clusters answer no more; nil for none.
func faultOf(lost []int) map[string]any {
	if len(lost) == 0 {
		return nil
	}
	names := make([]string, 0, len(lost))
	for _, number := range lost {
		names = append(names, fmt.Sprintf("%05d", number))
	}
	return map[string]any{"name": "lost", "clusters": names, "blackHole": true}
}

// setFaults has the clusters do something wrong, or nothing.
func (p *player) setFaults(ctx context.Context, rule map[string]any) error {
	faults := map[string]any{}
	if rule != nil {
		faults["rules"] = []any{rule}
	}
	text, err := yaml.Marshal(faults)
	if err != nil {
		return fmt.Errorf("write the faults: %w", err)
	}
	_, err = p.clusters(ctx, "PUT", "/admin/faults", text)
	return err
}

func (p *player) loseTemporal(ctx context.Context, s scenarios.LoseTemporal) (outcome, error) {
	if err := p.loseStore(ctx); err != nil {
		return outcome{}, err
	}
	wanted := int64(len(p.there))
	if err := processes.Until(ctx, allMost, "all Kymas have a workflow again", func() (bool, error) {
		open, err := p.openKymas(ctx)
		return err == nil && open >= wanted, nil
	}); err != nil {
		return outcome{}, err
	}
	return outcome{kymas: len(p.there)}, pause(ctx, durationOr(s.For, 0))
}

func durationOr(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// commit is that of the tree, with a + behind it where files were changed; empty outside of a repository.
func commit(ctx context.Context) string {
	id, err := processes.Output(ctx, nil, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(id))
	if changed, err := processes.Output(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no"); err == nil && len(changed) > 0 {
		text += "+"
	}
	return text
}
