import { expectNothingSticksOut } from '../support/dialog';
import { expect, test } from '../support/test';

const ENCRYPTED = 'vm/101/2024-05-01T11:00:00Z';

for (const width of [1440, 400]) {
  test(`the restore dialog of an encrypted image fits ${width} px: fingerprint and paths break`, async ({ signedIn: page }) => {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/store/golden?snapshot=${encodeURIComponent(ENCRYPTED)}&restore=drive-virtio0.img.fidx`);
    const dialog = page.getByTestId('restore-dialog');
    await expect(dialog).toContainText(/([0-9a-f]{2}:){7}/);
    await expect(dialog.locator('.restore-form')).toContainText('/restore');
    await expectNothingSticksOut(dialog);
  });

  test(`the details of an encrypted snapshot fit ${width} px`, async ({ signedIn: page }) => {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/store/golden?snapshot=${encodeURIComponent(ENCRYPTED)}`);
    const detail = page.getByTestId('snapshot-detail');
    await expect(detail.locator('.facts .mono')).toBeVisible();
    const clipped = await detail.locator('.facts dd').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
    expect(clipped).toBe(0);
  });
}
