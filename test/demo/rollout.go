package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Versions of the tour: the first ones are good, the next is bad, the last good again.
const (
	firstVersion  = "1.0.0"
	goodVersion   = "1.1.0"
	badVersion    = "1.2.0"
	repairVersion = "1.3.0"
	// spareVersion is written, for the user to publish.
	spareVersion = "1.4.0"
)

// tourRollout shows a rollout that completes, one that stops by itself, and one that repairs.
func (d *demo) tourRollout(ctx context.Context) error {
	ctx, cancel := d.whileManaged(ctx)
	defer cancel()
	begin := d.now()
	for _, step := range []step{d.bringUnderPolicy, d.rollOut, d.rollOutBad, d.repair} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("the tour has ended, after %.0f s", d.now().Sub(begin).Seconds())
	_, err := d.writeVersion(stagedModule, spareVersion, "")
	return err
}

// operatorAPI is the path of our resources in the API of a cluster.
const operatorAPI = "apis/operator.kyma-project.io/v1beta2/"

// rolloutsCommand lists the rollouts, versionsCommand which cluster has which version.
func (d *demo) rolloutsCommand() command { return d.kubectl("get", "modulerollouts", "-A") }
func (d *demo) versionsCommand() command { return d.kubectl("get", "manifests", "-A") }

// bringUnderPolicy waits for the first version on all clusters, and creates the policy.
func (d *demo) bringUnderPolicy(ctx context.Context) error {
	d.say("%d Kymas become Ready with version %s of the module %s; each stands for a cluster, but they share one:\n\n  %s\n",
		stagedKymas, firstVersion, stagedModule, d.versionsCommand())
	if err := d.awaitReady(ctx, nil); err != nil {
		return err
	}
	if err := d.writeTour("policy.yaml", stagedPolicy); err != nil {
		return err
	}
	apply := d.kubectl("apply", "--server-side", "-f", d.path("tour/policy.yaml"))
	d.say("a RolloutPolicy has new versions come in stages: %s, about half of the others, the rest:\n\n  %s\n", stagedKyma(1), apply)
	if err := d.apply(ctx, stagedPolicy); err != nil {
		return err
	}
	_, err := d.follow(ctx, firstVersion, phaseCompleted)
	return err
}

// rollOut rolls out a version that is well.
func (d *demo) rollOut(ctx context.Context) error {
	d.sayPublished(goodVersion, "it reaches the stages one after the other")
	if err := d.publish(ctx, goodVersion, ""); err != nil {
		return err
	}
	if _, err := d.follow(ctx, goodVersion, phaseCompleted); err != nil {
		return err
	}
	d.say("all clusters have it:")
	return d.showVersions(ctx, goodVersion, goodVersion)
}

// rollOutBad rolls out a version that fails on its canary.
func (d *demo) rollOutBad(ctx context.Context) error {
	d.sayPublished(badVersion, "its canary fails, for it has a Service without ports, so the rollout stops by itself")
	if err := d.publish(ctx, badVersion, brokenObject); err != nil {
		return err
	}
	held, err := d.follow(ctx, badVersion, phaseHeld)
	if err != nil {
		return err
	}
	if len(held.Status.Failures) == 0 {
		return fmt.Errorf("%w: the rollout of %s is held without a failure: %s", errOtherwise, badVersion, held.Status.WaitsFor)
	}
	first := held.Status.Failures[0]
	d.say("it is Held until people act, because of what %s says:\n\n  %s\n", strings.Join(first.Kymas, ", "), first.Message)
	d.say("the other clusters keep version %s:", goodVersion)
	return d.showVersions(ctx, badVersion, goodVersion)
}

// repair rolls out a version that takes the place of the bad one.
func (d *demo) repair(ctx context.Context) error {
	d.sayPublished(repairVersion, "its rollout supersedes the one that is Held, and repairs the canary first")
	if err := d.publish(ctx, repairVersion, ""); err != nil {
		return err
	}
	if _, err := d.follow(ctx, repairVersion, phaseCompleted); err != nil {
		return err
	}
	d.say("all clusters have it:")
	if err := d.showVersions(ctx, repairVersion, repairVersion); err != nil {
		return err
	}
	if err := d.awaitReady(ctx, nil); err != nil {
		return err
	}
	d.say("all Kymas are Ready again, and the rollouts have ended:\n\n  %s\n", d.rolloutsCommand())
	list, err := d.controlPlane.table(ctx, operatorAPI+"modulerollouts")
	if err != nil {
		return err
	}
	d.text(list + "\n")
	if !strings.Contains(list, "Superseded") {
		return fmt.Errorf("%w: the rollout of %s is not Superseded", errOtherwise, badVersion)
	}
	return nil
}

// sayPublished says that a version is being published, what it will do, and how to do and to see the same.
func (d *demo) sayPublished(version, what string) {
	d.say("version %s is published; %s:\n\n  published by  %s\n  see it by     %s\n",
		version, what, d.publishLine(version), d.rolloutsCommand())
}

// showVersions shows which cluster has which version, of which the canary must have one and all others another.
func (d *demo) showVersions(ctx context.Context, canary, others string) error {
	d.text("\n  " + d.versionsCommand().String() + "\n\n")
	list, err := d.controlPlane.table(ctx, operatorAPI+"manifests")
	if err != nil {
		return err
	}
	d.text(list + "\n")
	return checkVersions(list, canary, others)
}

// checkVersions checks a list of Manifests: the canary's must have one version, and all others another.
func checkVersions(list, canary, others string) error {
	for number := 1; number <= stagedKymas; number++ {
		version := others
		if number == 1 {
			version = canary
		}
		found := false
		for line := range strings.Lines(list) {
			words := strings.Fields(line)
			found = found || strings.Contains(line, " "+stagedKyma(number)+"-") && slices.Contains(words, version)
		}
		if !found {
			return fmt.Errorf("%w: %s does not have version %s", errOtherwise, stagedKyma(number), version)
		}
	}
	return nil
}

// explainRollout says what to open and to try after the tour.
func (d *demo) explainRollout(context.Context) error {
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	d.text(fmt.Sprintf(`
Open
  Temporal           %s
  rollouts           %s
  their policy       %s
  remote cluster     %s

Try, in another terminal, in %s
  publish one more version, and watch it:
    %s
    %s

Ctrl-C ends the demo and all that it has started. The tree below follows what you do.

`,
		d.fleet.Temporal.UIURL, d.rolloutsCommand(), d.kubectl("get", "rolloutpolicies", "-A", "-o", "yaml"),
		d.remoteKubectl("get", "configmaps", "-A", "--field-selector", "metadata.name="+stagedModule), here,
		d.publishLine(spareVersion), append(d.rolloutsCommand(), "--watch")))
	return nil
}
