import { expect, type Locator } from '@playwright/test';

/** Nothing in a dialog is wider than its box: a dialog cuts off what sticks out, without a bar to scroll it in. */
export async function expectNothingSticksOut(dialog: Locator): Promise<void> {
  const found = await dialog.evaluate((root) => {
    const describe = (element: Element) => `${element.tagName.toLowerCase()}.${element.className}`;
    const wider = [root, ...Array.from(root.querySelectorAll('.dialog, .dialog-body, .restore, .restore > *, .dialog-foot'))]
      .filter((element) => element.scrollWidth > element.clientWidth + 1)
      .map((element) => `${describe(element)} is ${element.scrollWidth} px wide in ${element.clientWidth}`);
    const edge = (root.querySelector('.dialog') ?? root).getBoundingClientRect().right;
    const beyond = Array.from(root.querySelectorAll('.dialog *'))
      .filter((element) => !element.closest('.vh, .scroll-x, .tabs, .tree, .pick, pre') && element.getBoundingClientRect().right > edge + 1)
      .map((element) => `${describe(element)} ends ${element.getBoundingClientRect().right - edge} px beyond the dialog`);
    return [...wider, ...beyond];
  });
  expect(found).toEqual([]);
}
