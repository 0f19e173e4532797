package main

// exceptions are what is in the published schemas, but an API server does not hold a new object against. They are named
// by type and field, without io.k8s.api.; the texts say why.
type exceptions struct {
	// notRequired are required fields that may be missing.
	notRequired map[string]string
	// notChecked are kinds, and fields with all that is below them, that are left out altogether.
	notChecked map[string]string
}

// ofKubernetes are the exceptions of Kubernetes. Whoever raises its version finds the rules in pkg/apis/*/validation
// there, and what is dropped in the PrepareForCreate of pkg/registry/*; an API server that is asked to create an object
// with dryRun=All tells the same.
func ofKubernetes() exceptions {
	return exceptions{
		// With what an API server makes of a field that is not there. A field is required in a schema where Go writes it
		// out even when it is empty, which says nothing about whether anything reads it.
		notRequired: map[string]string{
			"batch.v1.PodFailurePolicy.rules":                 "a policy without rules fails no pod",
			"core.v1.HTTPHeader.value":                        "an empty header",
			"core.v1.ISCSIPersistentVolumeSource.lun":         "0 is a unit",
			"core.v1.ISCSIVolumeSource.lun":                   "0 is a unit",
			"core.v1.LimitRangeSpec.limits":                   "no limits",
			"core.v1.PreferredSchedulingTerm.preference":      "a preference for nothing",
			"core.v1.ScaleIOPersistentVolumeSource.secretRef": "only the volume's driver looks at it",
			"core.v1.ScaleIOVolumeSource.secretRef":           "only the volume's driver looks at it",
			"core.v1.SleepAction.seconds":                     "0 is allowed",
			"core.v1.Sysctl.value":                            "an empty value",
			"discovery.v1.ForZone.name":                       "names of zones are not looked at",
			"resource.v1.Counter.value":                       "0 is a quantity",
			"resource.v1.DeviceCapacity.value":                "0 is a quantity",
			"resource.v1.ResourcePool.generation":             "0 is a generation",
			"storage.v1.CSIDriver.spec":                       "everything in it has a default",
			"storage.v1.CSINode.spec":                         "no drivers",
			"storage.v1.CSINodeSpec.drivers":                  "no drivers",
			"storage.v1.TokenRequest.audience":                "the audience of the API server",

			"io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource.group": "the core group has no name",
		},
		// With what becomes of the object or the field.
		notChecked: map[string]string{
			"authentication.v1.TokenReview":             "a request, which is not stored",
			"authorization.v1.LocalSubjectAccessReview": "a request, which is not stored",
			"authorization.v1.SelfSubjectAccessReview":  "a request, which is not stored",
			"authorization.v1.SelfSubjectRulesReview":   "a request, which is not stored",
			"authorization.v1.SubjectAccessReview":      "a request, which is not stored",
			"core.v1.Binding":                           "a request, which is not stored",
			"core.v1.ComponentStatus":                   "cannot be created",
			"core.v1.Event":                             "goes away by itself; it needs none of what is required",
			"core.v1.RangeAllocation":                   "not served",
			"events.v1.Event":                           "goes away by itself",

			"autoscaling.v2.MetricIdentifier.selector":           "for the server of the metrics to look at",
			"core.v1.NodeSpec.configSource":                      "without effect since Kubernetes 1.24",
			"core.v1.PersistentVolumeClaimSpec.dataSource":       "dropped where the reference is incomplete",
			"storage.v1.VolumeAttachmentSource.inlineVolumeSpec": "a volume that was looked at in its pod",

			// Fields that a server drops, with what is below them, unless a feature gate is on that is not on by
			// default, in the version of k8s.io/api or in the one before it.
			"batch.v1.JobSpec.scheduling":                      "WorkloadWithJob",
			"core.v1.GRPCAction.mode":                          "GRPCContainerProbeTLS",
			"core.v1.HTTPGetAction.protocol":                   "H2CContainerProbe",
			"core.v1.Lifecycle.stopSignal":                     "ContainerStopSignals",
			"core.v1.PodSpec.evictionResponders":               "EvictionRequestAPI",
			"core.v1.VolumeProjection.clusterTrustBundle":      "ClusterTrustBundleProjection, until 1.37",
			"core.v1.VolumeProjection.podCertificate":          "PodCertificateRequest, until 1.37",
			"resource.v1.DeviceSubRequest.derivedAttributes":   "DRADerivedAttributes",
			"resource.v1.ExactDeviceRequest.derivedAttributes": "DRADerivedAttributes",
			"resource.v1.ResourceSliceSpec.skipNodeOperations": "DRAOptionalNodeOperations",
		},
	}
}
